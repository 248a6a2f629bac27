//! Options whose effect is not built: setting one is refused with the reason, at opening and later.

use crate::setup::Setup;
use ferrock::ErrorKind;
use ferrock::options::ColumnFamilySettings;
use ferrock_table::BlockBasedTableOptions;

pub fn check(name: &str, value: &str) {
    let error = Setup::new().set(name, value).try_open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{name}: {error}");
    assert!(error.to_string().contains(name), "{name}: {error}");
    let setup = Setup::new();
    let db = setup.open();
    let created = db.create_column_family("new", setup.clone().set(name, value).family).unwrap_err();
    assert_eq!(created.kind(), ErrorKind::NotSupported, "{name}: {created}");
    assert!(db.column_family("new").is_none());
    let mut rows = BlockBasedTableOptions::TABLE.iter().chain(ColumnFamilySettings::TABLE);
    let is_mutable = rows.find(|info| info.name == name).unwrap().flags.is_mutable;
    let family = db.default_column_family().unwrap();
    let error = db.set_options_cf(&family, &[("block_size", "1234"), (name, value)]).unwrap_err();
    let expected = if is_mutable { ErrorKind::NotSupported } else { ErrorKind::InvalidArgument };
    assert_eq!(error.kind(), expected, "{name}: {error}");
    assert!(error.to_string().contains(name), "{name}: {error}");
    drop(db);
    let file = setup.files(|name| name.starts_with("OPTIONS-")).pop().unwrap();
    assert!(!String::from_utf8(setup.read(&file)).unwrap().contains("block_size=1234"), "all or nothing");
}
