//! Proves that the core needs no standard library: it links the core without std.
//!
//! The program has the panic handler that std also has, so if any dependency uses std, the compiler finds two and rejects.
//! CI builds it and never runs it. It cannot forbid `unsafe`: an allocator and unmangled names need it.

#![no_std]
#![no_main]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use taintward_core::ordered_hold::OrderedHolds;
use taintward_core::taint_start::{BindingSource, PodBinding};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::{self, PodInput};

/// An allocator that always rejects.
struct Nothing;

// SAFETY: an allocator may always refuse, and memory that it never allocated is never freed.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NOTHING: Nothing = Nothing;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

// The start-up code and the memory functions of the C library are all that is linked besides.
#[link(name = "c")]
unsafe extern "C" {}

// SAFETY: the only one of its name: std would bring another. The ready-made alloc library refers to it, for unwinding,
// which never happens here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

// SAFETY: the only `main` of this program.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let moment = Mono::from_micros(0);
    let arrival = PodBinding { at: moment, source: BindingSource::SeenLive };
    let subject = PodInput { tolerations: &[], arrival, exemption: None, holds: OrderedHolds::default() };
    let now = Now::exact(moment, Wall::from_secs(0));
    let verdict = verdict::judge(&subject, &[], NumericOperators::Off, now);
    i32::from(verdict.decisive.is_some())
}
