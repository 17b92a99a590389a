//! Caches the rendered page of each exposition format for a short time.

use super::{Exposition, Render};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A page that is not rendered for every request.
#[derive(Debug)]
pub struct CachedPage {
    of: Arc<dyn Render>,
    age: Duration,
    pages: Mutex<Vec<(Exposition, Instant, String)>>,
}

impl CachedPage {
    /// A page of at most this age.
    pub fn new(of: Arc<dyn Render>, age: Duration) -> Self {
        Self { of, age, pages: Mutex::default() }
    }
}

impl Render for CachedPage {
    fn render(&self, exposition: Exposition) -> String {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(_, made, _)| made.elapsed() < self.age);
        if let Some((_, _, page)) = pages.iter().find(|(of, _, _)| *of == exposition) {
            return page.clone();
        }
        let page = self.of.render(exposition);
        pages.push((exposition, Instant::now(), page.clone()));
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::advance;

    #[derive(Debug, Default)]
    struct Counts(AtomicUsize);

    impl Render for Counts {
        fn render(&self, exposition: Exposition) -> String {
            format!("{exposition:?} {}", self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_rendered_once_a_second_for_each_format() {
        let cached = CachedPage::new(Arc::new(Counts::default()), Duration::from_secs(1));
        let (plain, open) = (Exposition::Prometheus, Exposition::OpenMetrics);
        let [first, other] = [plain, open].map(|form| cached.render(form));
        assert_ne!(first, other);
        advance(Duration::from_millis(999)).await;
        assert_eq!([plain, open].map(|form| cached.render(form)), [first.clone(), other]);
        advance(Duration::from_millis(1)).await;
        assert_ne!(cached.render(plain), first);
    }
}
