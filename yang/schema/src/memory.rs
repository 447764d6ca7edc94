//! What the allocator of glibc does with free memory; nothing happens with another one.
#![allow(unsafe_code)] // two functions of glibc that take numbers

/// Gives free memory of the whole process back to the system. Takes milliseconds for hundreds of megabytes: to be called
/// after big data were freed, where nobody waits.
pub fn return_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim of glibc takes any padding and touches free memory only.
    unsafe {
        malloc_trim(0)
    };
}

/// Bounds what is kept of free memory, once and before there are threads. What is big comes from the system and goes
/// back to it; without this the bound grows with the biggest thing that was ever freed, to 64 MiB for each thread.
pub fn keep_little_memory() {
    #[cfg(target_env = "gnu")]
    for (parameter, value) in [(TRIM_THRESHOLD, BIG), (MMAP_THRESHOLD, BIG), (ARENA_MAX, ARENAS)] {
        // SAFETY: mallopt of glibc takes any values; an unknown parameter does nothing.
        unsafe { mallopt(parameter, value) };
    }
}

/// From so many bytes on a block comes from the system, and so many free ones at an end go back.
#[cfg(target_env = "gnu")]
const BIG: std::ffi::c_int = 1 << 20;

/// Pools that threads share: what one has freed is used by another.
#[cfg(target_env = "gnu")]
const ARENAS: std::ffi::c_int = 4;

#[cfg(target_env = "gnu")]
const TRIM_THRESHOLD: std::ffi::c_int = -1;
#[cfg(target_env = "gnu")]
const MMAP_THRESHOLD: std::ffi::c_int = -3;
#[cfg(target_env = "gnu")]
const ARENA_MAX: std::ffi::c_int = -8;

#[cfg(target_env = "gnu")]
// SAFETY: so glibc declares them in malloc.h.
unsafe extern "C" {
    fn malloc_trim(padding: usize) -> std::ffi::c_int;
    fn mallopt(parameter: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
}
