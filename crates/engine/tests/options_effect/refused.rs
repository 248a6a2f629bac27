//! Options whose effect is not built: whoever sets one is told so.

use crate::setup::Setup;
use ferrock::ErrorKind;

pub fn check(name: &str, value: &str) {
    let error = Setup::new().set(name, value).try_open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{name}: {error}");
    assert!(error.to_string().contains(name), "{name}: {error}");
}
