//! Extracts the cluster and namespace from an unfinished command line.

use std::ffi::OsString;
use std::path::PathBuf;
use taintward_kube::config::{ConfigOverrides, Impersonation};

/// What is known of the cluster that is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypedLine {
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) context: Option<String>,
    pub(super) overrides: ConfigOverrides,
    pub(super) namespace: Option<String>,
    pub(super) all_namespaces: bool,
}

impl TypedLine {
    /// The line this process was given.
    pub(super) fn typed() -> Self {
        Self::of(std::env::args_os().skip(1))
    }

    fn of(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut line = Self::default();
        let mut acting = Impersonation::default();
        let mut words = words.into_iter().filter_map(|word| word.into_string().ok());
        while let Some(word) = words.next() {
            let (flag, mut value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None if ["-n", "-s"].iter().any(|short| word.starts_with(short)) && word.len() > 2 => {
                    (word[..2].to_owned(), Some(word[2..].to_owned()))
                }
                None => (word, None),
            };
            let mut value = || value.take().or_else(|| words.next()).filter(|value| !value.is_empty());
            match flag.as_str() {
                "--kubeconfig" => line.kubeconfig = value().map(PathBuf::from),
                "--context" => line.context = value(),
                "--cluster" => line.overrides.cluster = value(),
                "--user" => line.overrides.user = value(),
                "-s" | "--server" => line.overrides.server = value(),
                "--as" => acting.user = value().unwrap_or_default(),
                "--as-group" => acting.groups.extend(value()),
                "--as-uid" => acting.uid = value(),
                "-n" | "--namespace" => line.namespace = value(),
                "-A" | "--all-namespaces" => line.all_namespaces = true,
                _ => {}
            }
        }
        line.overrides.acting = (!acting.user.is_empty()).then_some(acting);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_understood_in_each_spelling() {
        let of = |words: &str| TypedLine::of(words.split(' ').map(OsString::from));
        let line = of("lint --kubeconfig=/a --context b -n shop -l app=web");
        assert_eq!((line.kubeconfig, line.context.as_deref()), (Some("/a".into()), Some("b")));
        for words in ["-n shop", "-nshop", "-n=shop", "--namespace shop", "--namespace=shop"] {
            assert_eq!(of(words).namespace.as_deref(), Some("shop"), "{words}");
        }
        let acting = Impersonation {
            user: "jane".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            uid: None,
        };
        for words in ["-s http://h", "-shttp://h", "--server=http://h"] {
            let line = of(&format!("lint {words} --as jane --as-group a --as-group=b --cluster c --user u"));
            let ConfigOverrides { cluster, user, server, acting: found } = line.overrides;
            assert_eq!((cluster.as_deref(), user.as_deref()), (Some("c"), Some("u")));
            assert_eq!((server.as_deref(), found.as_ref()), (Some("http://h"), Some(&acting)), "{words}");
        }
        assert_eq!(of("lint --as-group a").overrides, ConfigOverrides::default(), "nobody to act as");
        assert_eq!(of("lint -A"), TypedLine { all_namespaces: true, ..TypedLine::default() });
        assert_eq!(of("lint --context"), TypedLine::default());
        assert_eq!(of("lint --namespaces x"), TypedLine::default());
    }
}
