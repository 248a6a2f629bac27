//! Key arguments: tuples of values, and ranges of tuples.

use ferrock_base::Result;
use ferrock_format::wide::{Timestamp, Uuid, Value, ValueRef};
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Values of components, first one first: `()`, a value, a tuple of up to eight, or a slice of [`Value`]s.
///
/// A number is converted to the component's type if it fits: `7` is a `u64` as well as an `i32`.
pub trait KeyTuple {
    /// Shows each value.
    ///
    /// # Errors
    /// That of `visit`.
    fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()>;
}

macro_rules! single {
    ($($single:ty),*) => {
        $(impl KeyTuple for $single {
            #[inline]
            fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
                visit(ValueRef::from(*self))
            }
        })*
    };
}

single!(bool, i32, u32, f32, i64, u64, f64, Timestamp, Uuid);

macro_rules! borrowed {
    ($($single:ty),*) => {
        $(impl KeyTuple for $single {
            #[inline]
            fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
                visit(ValueRef::from(self))
            }
        })*
    };
}

borrowed!(str, String, [u8], Vec<u8>, Value);

impl<const N: usize> KeyTuple for [u8; N] {
    fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        visit(ValueRef::Bytes(self))
    }
}

impl KeyTuple for ValueRef<'_> {
    fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        visit(*self)
    }
}

impl KeyTuple for [Value] {
    fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|value| visit(value.as_ref()))
    }
}

impl KeyTuple for Vec<Value> {
    fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        self[..].each(visit)
    }
}

impl<T: KeyTuple + ?Sized> KeyTuple for &T {
    #[inline]
    fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        (**self).each(visit)
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt)*))*) => {
        $(impl<$($name: KeyTuple),*> KeyTuple for ($($name,)*) {
            #[inline]
            fn each(&self, visit: &mut impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
                let _ = &visit;
                $(self.$index.each(visit)?;)*
                Ok(())
            }
        })*
    };
}

tuples! {
    ()
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}

/// A range of rows in the order of the table: any of Rust's ranges of [`KeyTuple`]s, or a pair of [`Bound`]s.
///
/// An end may have fewer values than there are components. It then stands for all rows that begin with them:
/// `(2024,)..` begins with the first row of 2024, `..=(2024,)` ends with its last one, `..(2024,)` before its first.
/// With a descending component large values come first: `newest..oldest`.
pub trait RowRange {
    /// The type of its ends.
    type Tuple: KeyTuple;
    /// Where it begins.
    fn start(&self) -> Bound<&Self::Tuple>;
    /// Where it ends.
    fn end(&self) -> Bound<&Self::Tuple>;
}

impl RowRange for RangeFull {
    type Tuple = ();
    fn start(&self) -> Bound<&()> {
        Bound::Unbounded
    }
    fn end(&self) -> Bound<&()> {
        Bound::Unbounded
    }
}

macro_rules! ranges {
    ($($range:ty: $self:ident => $start:expr, $end:expr;)*) => {
        $(impl<T: KeyTuple> RowRange for $range {
            type Tuple = T;
            fn start(&$self) -> Bound<&T> {
                $start
            }
            fn end(&$self) -> Bound<&T> {
                $end
            }
        })*
    };
}

ranges! {
    Range<T>: self => Bound::Included(&self.start), Bound::Excluded(&self.end);
    RangeFrom<T>: self => Bound::Included(&self.start), Bound::Unbounded;
    RangeTo<T>: self => Bound::Unbounded, Bound::Excluded(&self.end);
    RangeInclusive<T>: self => Bound::Included(self.start()), Bound::Included(self.end());
    RangeToInclusive<T>: self => Bound::Unbounded, Bound::Included(&self.end);
    (Bound<T>, Bound<T>): self => self.0.as_ref(), self.1.as_ref();
}

impl<R: RowRange> RowRange for &R {
    type Tuple = R::Tuple;
    fn start(&self) -> Bound<&R::Tuple> {
        (**self).start()
    }
    fn end(&self) -> Bound<&R::Tuple> {
        (**self).end()
    }
}
