//! Lists a folder with as few system calls as possible.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

/// A folder entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a CStr,
    pub(crate) file_type: FileType,
    pub(crate) inode: u64,
}

/// Calls `visit` for every entry except `.` and `..`, in directory order, until it breaks.
pub(crate) fn for_each(
    folder: BorrowedFd<'_>,
    visit: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<(), Errno> {
    // On the stack: most folders need one system call and no allocation.
    #[cfg(target_os = "linux")]
    let mut buffer = [std::mem::MaybeUninit::<u8>::uninit(); 16 * 1024];
    #[cfg(target_os = "linux")]
    let mut entries = rustix::fs::RawDir::new(folder, &mut buffer);
    #[cfg(not(target_os = "linux"))]
    let mut entries = rustix::fs::Dir::read_from(folder)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let entry = Entry {
            name,
            file_type: entry.file_type(),
            inode: entry.ino(),
        };
        if visit(entry).is_break() {
            break;
        }
    }
    Ok(())
}
