//! # Line: what a command line that is not finished means
//! Room:     which cluster, and which namespace of it, as far as it is said.
//! Comes in: words.
//! Goes out: [`Line`].
//! Not here: the flags themselves (`kube_args.rs`).

use std::ffi::OsString;
use std::path::PathBuf;

/// What is known of the cluster that is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) context: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) all_namespaces: bool,
}

impl Line {
    /// The line this process was given.
    pub(super) fn typed() -> Self {
        Self::of(std::env::args_os().skip(1))
    }

    fn of(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut line = Self::default();
        let mut words = words.into_iter().filter_map(|word| word.into_string().ok());
        while let Some(word) = words.next() {
            let (flag, mut value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None if word.starts_with("-n") && word.len() > 2 => {
                    ("-n".to_owned(), Some(word[2..].to_owned()))
                }
                None => (word, None),
            };
            let mut value = || value.take().or_else(|| words.next()).filter(|value| !value.is_empty());
            match flag.as_str() {
                "--kubeconfig" => line.kubeconfig = value().map(PathBuf::from),
                "--context" => line.context = value(),
                "-n" | "--namespace" => line.namespace = value(),
                "-A" | "--all-namespaces" => line.all_namespaces = true,
                _ => {}
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_understood_in_each_spelling() {
        let of = |words: &str| Line::of(words.split(' ').map(OsString::from));
        let line = of("lint --kubeconfig=/a --context b -n shop -l app=web");
        assert_eq!((line.kubeconfig, line.context.as_deref()), (Some("/a".into()), Some("b")));
        for words in ["-n shop", "-nshop", "-n=shop", "--namespace shop", "--namespace=shop"] {
            assert_eq!(of(words).namespace.as_deref(), Some("shop"), "{words}");
        }
        assert_eq!(of("lint -A"), Line { all_namespaces: true, ..Line::default() });
        assert_eq!(of("lint --context"), Line::default());
        assert_eq!(of("lint --namespaces x"), Line::default());
    }
}
