//! The oracle: libyang's verdict on a whole configuration.
#![allow(unsafe_code)] // libyang's data trees are reached through its pointers; all are freed here

use crate::compile::Compiled;
use crate::faults;
use crate::raw::{Context, Fault, owned};
use cats_yang_tree::error::{Error, ErrorTag, Path};
use std::collections::HashMap;
use std::ffi::CString;
use std::ptr;
use yang5::ffi;

/// A whole configuration as text.
#[derive(Debug, Clone, Copy)]
pub enum Document<'a> {
    /// The top-level elements one after the other, without a common parent.
    Xml(&'a str),
    /// One RFC 7951 object.
    Json(&'a str),
}

/// A verdict without errors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validated {
    /// What libyang would delete since its `when` is false (RFC 7950 section 8.2), in document order; an entry
    /// stands for its subtree.
    pub deleted: Vec<Path>,
}

impl Compiled {
    /// Judges a whole configuration. Nodes whose `when` is false are deleted and reported.
    ///
    /// # Errors
    /// All errors, in document order, with the tags of RFC 6241 and the app-tags of RFC 7950 section 15. When the
    /// text does not parse, those of parsing only.
    pub fn validate(&self, document: Document<'_>) -> Result<Validated, Vec<Error>> {
        self.judge(document, ffi::LYD_PARSE_WHEN_TRUE)
    }

    /// As [`Compiled::validate`], but a node whose `when` is false is an error: for data in which no such node
    /// may stand.
    ///
    /// # Errors
    /// As [`Compiled::validate`].
    pub fn validate_strictly(&self, document: Document<'_>) -> Result<Validated, Vec<Error>> {
        self.judge(document, 0)
    }

    fn judge(&self, document: Document<'_>, option: u32) -> Result<Validated, Vec<Error>> {
        let (text, format) = match document {
            Document::Xml(text) => (text, ffi::LYD_FORMAT::LYD_XML),
            Document::Json(text) => (text, ffi::LYD_FORMAT::LYD_JSON),
        };
        let Ok(text) = CString::new(text) else {
            let message = "the configuration holds a NUL character";
            return Err(vec![Error::application(ErrorTag::MalformedMessage, message)]);
        };
        let _returned = Returned { octets: text.as_bytes().len() };
        self.context.take_faults();
        let mut tree = Tree { node: ptr::null_mut() };
        if !tree.parse(self.context, &text, format, option) {
            let faults = self.context.take_faults();
            return Err(non_empty(faults.iter().map(faults::of_parsing).collect()));
        }
        let mut changes = Tree { node: ptr::null_mut() };
        if !tree.validate(self.context, &mut changes) {
            let faults = self.context.take_faults();
            return Err(non_empty(tree.in_order(&faults)));
        }
        self.context.take_faults();
        Ok(Validated { deleted: changes.deleted() })
    }
}

fn non_empty(errors: Vec<Error>) -> Vec<Error> {
    if errors.is_empty() {
        return vec![Error::application(ErrorTag::OperationFailed, "libyang refuses it and gives no reason")];
    }
    errors
}

/// Gives the memory of a big tree back to the system when the verdict is there: the allocator would keep it.
struct Returned {
    octets: usize,
}

/// A text of this size makes a tree that is worth the walk over the allocator's arenas.
const BIG: usize = 1 << 20;

impl Drop for Returned {
    fn drop(&mut self) {
        if self.octets >= BIG {
            crate::memory::return_memory();
        }
    }
}

/// A data tree or a diff, freed on drop.
struct Tree {
    node: *mut ffi::lyd_node,
}

impl Tree {
    fn parse(
        &mut self,
        context: &Context,
        text: &CString,
        format: ffi::LYD_FORMAT::Type,
        option: u32,
    ) -> bool {
        let parsing = ffi::LYD_PARSE_ONLY | ffi::LYD_PARSE_STRICT | ffi::LYD_PARSE_NO_STATE | option;
        let mut input = ptr::null_mut();
        // SAFETY: the text ends with NUL and outlives the input, which is freed here; the tree that results is
        // owned by self.
        unsafe {
            if ffi::ly_in_new_memory(text.as_ptr(), &mut input) != ffi::LY_ERR::LY_SUCCESS {
                return false;
            }
            let result = ffi::lyd_parse_data(
                context.as_ptr(),
                ptr::null_mut(),
                input,
                format,
                parsing,
                ffi::LYD_VALIDATE_MULTI_ERROR,
                &mut self.node,
            );
            ffi::ly_in_free(input, 0);
            result == ffi::LY_ERR::LY_SUCCESS
        }
    }

    /// Validates against all implemented modules; `changes` gets what was created and deleted.
    fn validate(&mut self, context: &Context, changes: &mut Tree) -> bool {
        let options = ffi::LYD_VALIDATE_NO_STATE | ffi::LYD_VALIDATE_MULTI_ERROR;
        // SAFETY: both pointers are null or trees of this context, and owned by their wrappers.
        let result =
            unsafe { ffi::lyd_validate_all(&mut self.node, context.as_ptr(), options, &mut changes.node) };
        result == ffi::LY_ERR::LY_SUCCESS
    }

    /// The errors of validation, sorted by where their node stands in the document; those of equal or unknown
    /// place keep libyang's order.
    fn in_order(&self, faults: &[Fault]) -> Vec<Error> {
        let mut places: HashMap<String, usize> = HashMap::new();
        self.visit(&mut |node| {
            let next = places.len();
            places.entry(path_of(node)).or_insert(next);
        });
        let place = |fault: &Fault| {
            fault.data_path.as_ref().and_then(|path| places.get(path)).copied().unwrap_or(usize::MAX)
        };
        let mut ordered: Vec<(usize, Error)> =
            faults.iter().map(|fault| (place(fault), faults::of_validation(fault))).collect();
        ordered.sort_by_key(|(place, _)| *place);
        ordered.into_iter().map(|(_, error)| error).collect()
    }

    /// Of a diff: the topmost deleted nodes.
    fn deleted(&self) -> Vec<Path> {
        let mut deleted: Vec<String> = Vec::new();
        self.visit(&mut |node| {
            if operation(node).as_deref() == Some("delete") {
                let path = path_of(node);
                let below = |above: &String| {
                    path.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'))
                };
                if !deleted.last().is_some_and(below) {
                    deleted.push(path);
                }
            }
        });
        deleted.into_iter().map(Path).collect()
    }

    /// Calls `see` for every node, parents first.
    fn visit(&self, see: &mut dyn FnMut(&ffi::lyd_node)) {
        let mut pending = vec![self.node.cast_const()];
        while let Some(pointer) = pending.pop() {
            // SAFETY: null or a node of the tree that self owns; children are asked of libyang.
            unsafe {
                let Some(node) = pointer.as_ref() else { continue };
                see(node);
                pending.push(node.next);
                pending.push(child_of(node));
            }
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: null or a tree that nobody else holds.
        unsafe { ffi::lyd_free_all(self.node) }
    }
}

/// # Safety
/// `node` is a valid data node.
unsafe fn child_of(node: &ffi::lyd_node) -> *const ffi::lyd_node {
    // SAFETY: the contract of this function; containers and lists begin with lyd_node_inner.
    unsafe {
        let kind = node.schema.as_ref().map_or(0, |schema| u32::from(schema.nodetype));
        if kind & (ffi::LYS_CONTAINER | ffi::LYS_LIST) == 0 {
            return ptr::null();
        }
        (*ptr::from_ref(node).cast::<ffi::lyd_node_inner>()).child
    }
}

/// The value of `yang:operation` on a node of a diff, inherited from its parents.
fn operation(node: &ffi::lyd_node) -> Option<String> {
    let mut at = Some(node);
    while let Some(current) = at {
        // SAFETY: metadata is a list that ends with null, and each has a value in canonical form.
        unsafe {
            let mut meta = current.meta.as_ref();
            while let Some(found) = meta {
                if owned(found.name).as_deref() == Some("operation") {
                    return owned(ffi::lyd_value_get_canonical(
                        (*(*current.schema).module).ctx,
                        &found.value,
                    ));
                }
                meta = found.next.as_ref();
            }
            at = current.parent.as_ref();
        }
    }
    None
}

fn path_of(node: &ffi::lyd_node) -> String {
    // SAFETY: a valid node; the text is copied, then freed as libyang asks for.
    unsafe {
        let text = ffi::lyd_path(node, ffi::LYD_PATH_TYPE::LYD_PATH_STD, ptr::null_mut(), 0);
        let path = owned(text).unwrap_or_default();
        ffi::free(text.cast());
        path
    }
}
