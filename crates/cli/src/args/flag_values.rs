//! Finds the values of a flag on the command line of another process.

/// The values of a flag on a command line, written `--flag=value` or `--flag value`, in order.
pub(crate) fn flag_values<'a>(arguments: &'a [String], flag: &str) -> Vec<&'a str> {
    let mut values = Vec::new();
    let mut words = arguments.iter().flat_map(|argument| words(argument));
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix("--").and_then(|word| word.strip_prefix(flag)) else { continue };
        match rest.strip_prefix('=') {
            Some(value) => values.push(value.trim_matches(['"', '\''])),
            None if rest.is_empty() => values.extend(words.next()),
            None => {}
        }
    }
    values
}

/// The words of an argument: several if a shell gets the whole command as one.
fn words(argument: &str) -> Vec<&str> {
    if argument.contains(" --") { argument.split_whitespace().collect() } else { vec![argument] }
}
