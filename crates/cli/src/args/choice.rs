//! Parses one of several words into the value that it stands for.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A parser of these words, which the help lists.
pub(crate) fn choice<T, const N: usize>(values: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let words = values.each_ref().map(|(word, _)| *word);
    PossibleValuesParser::new(words).map(move |word| {
        let chosen = values.iter().find(|(known, _)| *known == word);
        chosen.expect("the parser accepts these words only").1.clone()
    })
}
