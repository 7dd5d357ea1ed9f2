use crate::explore::Path;
use crate::model::LockModel;
use crate::scenario::{Property, Scenario};
use trace::Trace;
use world::Action;
pub(crate) fn narrate(_scenario: &Scenario, _model: &LockModel, _property: Property, _path: &Path) -> Trace {
    todo!()
}
pub(crate) fn narrate_actions(
    _scenario: &Scenario,
    _model: &LockModel,
    _property: Property,
    _actions: &[Action],
) -> Trace {
    todo!()
}
