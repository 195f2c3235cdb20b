//! Arrays: logical organisations and RAID, as pure maps (no time) and as a device.
//!
//! [`ArrayLayout`] says where units lie, [`Mapper`] turns a request into a [`Plan`] of member requests and the order
//! they must keep, and [`Array`] carries plans out: a controller with members, as one [`Device`](crate::Device).

mod clock;
mod copies;
mod device;
mod health;
mod layout;
mod lock;
mod mapper;
mod member;
mod model;
mod nvram;
mod operation;
mod plan;

pub use copies::{CopyChoice, MemberView};
pub use device::Array;
pub use health::Health;
pub use layout::{
    ArrayLayout, BlockDesign, MirrorOrder, Organisation, Redundancy, Rotation, UnitAddress, UnitIndex, UnitPlace,
};
pub use mapper::{Mapper, MappingRules, ParityRange, UpdateRule, WriteOrder};
pub use model::{ArrayModel, Failure, NvramModel, RebuildModel};
pub use plan::{MemberIo, Plan};
