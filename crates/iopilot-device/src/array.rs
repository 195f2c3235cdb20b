//! Arrays: logical organisations and RAID, as pure maps (no time) and as a device.
//!
//! [`ArrayLayout`] says where units lie, [`Mapper`] turns a request into a [`Plan`] of member requests and the order
//! they must keep.

mod copies;
mod health;
mod layout;
mod mapper;
mod plan;

pub use copies::{CopyChoice, MemberView};
pub use health::Health;
pub use layout::{
    ArrayLayout, BlockDesign, MirrorOrder, Organisation, Redundancy, Rotation, UnitAddress, UnitIndex, UnitPlace,
};
pub use mapper::{Mapper, MappingRules, ParityRange, UpdateRule, WriteOrder};
pub use plan::{MemberIo, Plan};
