//! Counts control loops: `async` methods that consume `self` and take a `Shutdown`.

use super::measure::{Goal, Measure};
use super::source::Source;
use syn::visit::{self, Visit};
use syn::{FnArg, ImplItemFn, ReceiverKind, Signature, Type};

/// The type of the signal that stops a loop.
const SHUTDOWN: &str = "Shutdown";

/// The control loops.
pub(crate) fn measure(sources: &[Source]) -> Measure {
    let mut found = Vec::new();
    for source in sources {
        let mut loops = Loops(Vec::new());
        loops.visit_file(source.syntax());
        found.extend(loops.0.iter().map(|method| format!("{}: {method}", source.path())));
    }
    Measure::count("control loops", Goal::Exactly(1.0), found)
}

struct Loops(Vec<String>);

impl<'ast> Visit<'ast> for Loops {
    fn visit_impl_item_fn(&mut self, method: &'ast ImplItemFn) {
        if is_loop(&method.sig) {
            self.0.push(method.sig.ident.to_string());
        }
        visit::visit_impl_item_fn(self, method);
    }
}

fn is_loop(signature: &Signature) -> bool {
    let consumes_self =
        signature.receiver().is_some_and(|receiver| matches!(receiver.kind, ReceiverKind::Value));
    signature.asyncness.is_some() && consumes_self && signature.inputs.iter().any(is_shutdown)
}

fn is_shutdown(argument: &FnArg) -> bool {
    let FnArg::Typed(argument) = argument else { return false };
    let Type::Path(path) = &*argument.ty else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == SHUTDOWN)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::measure;

    fn loops(text: &str) -> Vec<String> {
        let source = Source::parse("crates/controller/src/a.rs", text).unwrap();
        measure(&[source]).findings().to_vec()
    }

    #[test]
    fn a_method_that_runs_until_it_is_stopped_is_a_loop() {
        let text = "impl A { async fn run(mut self, mut stop: Shutdown) {} }\n\
                    impl<E> B<E> { pub async fn work(self, queues: Q, stop: shutdown::Shutdown) {} }";
        assert_eq!(loops(text), ["crates/controller/src/a.rs: run", "crates/controller/src/a.rs: work"]);
    }

    #[test]
    fn other_functions_are_not_loops() {
        assert_eq!(loops("async fn run(stop: Shutdown) {}"), [""; 0]);
        assert_eq!(loops("impl A { fn run(self, stop: Shutdown) {} }"), [""; 0]);
        assert_eq!(loops("impl A { async fn run(&mut self, stop: Shutdown) {} }"), [""; 0]);
        assert_eq!(loops("impl A { async fn run(self) {} }"), [""; 0]);
    }
}
