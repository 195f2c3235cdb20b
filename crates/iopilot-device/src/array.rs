//! Arrays: logical organisations and RAID, as pure maps (without time) and as a device.
//!
//! [`ArrayLayout`] says where units lie. [`Mapper`] turns a request into a [`Plan`]: member requests and their order.
//! [`Array`] executes plans: it is a controller with members, as one [`Device`](crate::Device). Ganger is Ganger's
//! thesis of 1995; its A.1.2.1 describes logical organisations.

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
