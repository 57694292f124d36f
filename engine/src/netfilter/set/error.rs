//! [`SetError`]: why the kernel refuses a command, in the words of ipset 7.17.

use std::fmt;

/// A refusal (`enum ipset_errno`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    Exists,
    Missing,
    InUse,
    ElementExists,
    ElementMissing,
    Full,
    ListFull,
    OutOfRange,
    RangeTooLarge,
    NullElement,
    Cidr,
    NoTimeout,
    NoComment,
    NoCounters,
    MemberMissing,
    MemberIsList,
    ReferenceMissing,
    RenameInUse,
    RenameExists,
    SwapMissing,
    SwapTypes,
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exists => "Set cannot be created: set with the same name already exists",
            Self::Missing => "The set with the given name does not exist",
            Self::InUse => "Set cannot be destroyed: it is in use by a kernel component",
            Self::ElementExists => "Element cannot be added to the set: it's already added",
            Self::ElementMissing => "Element cannot be deleted from the set: it's not added",
            Self::Full => "Hash is full, cannot add more elements",
            Self::ListFull => "Set is full, more elements cannot be added.",
            Self::OutOfRange => "Element is out of the range of the set",
            Self::RangeTooLarge => "The range you specified exceeds the size limit of the set type",
            Self::NullElement => "Null-valued element, cannot be stored in a hash type of set",
            Self::Cidr => "The value of the CIDR parameter of the IP address is invalid",
            Self::NoTimeout => "Timeout cannot be used: set was created without timeout support",
            Self::NoComment => "Comment cannot be used: set was created without comment support",
            Self::NoCounters => {
                "Packet/byte counters cannot be used: set was created without counter support"
            }
            Self::MemberMissing => "Set to be added/deleted/tested as element does not exist.",
            Self::MemberIsList => "Sets with list:set type cannot be added to the set.",
            Self::ReferenceMissing => {
                "The set to which you referred with 'before' or 'after' does not exist."
            }
            Self::RenameInUse => "Set cannot be renamed: it is in use by another system",
            Self::RenameExists => "Set cannot be renamed: a set with the new name already exists",
            Self::SwapMissing => "Sets cannot be swapped: the second set does not exist",
            Self::SwapTypes => "The sets cannot be swapped: their type does not match",
        })
    }
}
