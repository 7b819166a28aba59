//! What GPUs in general need on this machine.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wgpu::{Backends, DeviceType, Instance, InstanceDescriptor};

/// How many there are for these: whatever there is for device 0 alone, discrete ones otherwise. Or what is missing.
pub(super) fn devices(asked: &[usize]) -> Result<usize, &'static str> {
    // What Burn looks for: Metal on a Mac, Vulkan elsewhere.
    let backends = if cfg!(target_os = "macos") { Backends::METAL } else { Backends::VULKAN };
    let instance = Instance::new(InstanceDescriptor { backends, ..InstanceDescriptor::new_without_display_handle() });
    // Ready at once anywhere but in a browser.
    let adapters = pin!(instance.enumerate_adapters(backends)).poll(&mut Context::from_waker(Waker::noop()));
    match adapters {
        Poll::Ready(adapters) if !adapters.is_empty() => Ok(match asked {
            [0] => 1,
            _ => adapters.iter().filter(|a| a.get_info().device_type == DeviceType::DiscreteGpu).count(),
        }),
        _ if cfg!(target_os = "macos") => Err("no Metal device on this machine; use flex"),
        _ => Err("no Vulkan driver with a device on this machine; use flex"),
    }
}
