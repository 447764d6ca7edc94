//! Safe views of what libyang has compiled. All pointers that are followed here lead into a context that is
//! leaked once it is compiled, and never changed afterwards, so what they name lives for ever; libyang's headers
//! say of each whether it may be null. The views are plain references: nothing outside of this module and
//! `oracle` needs `unsafe`.
#![allow(unsafe_code)] // libyang is C: every access is through a pointer of its own

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{self, NonNull};
use yang5::ffi;

/// A module's text, for the time when libyang asks for it by name.
pub(crate) struct Provided {
    pub(crate) name: CString,
    pub(crate) revision: Option<CString>,
    pub(crate) text: CString,
}

/// A libyang context, which is destroyed on drop unless it is leaked.
pub(crate) struct Context(NonNull<ffi::ly_ctx>);

// SAFETY: a compiled context is only read; libyang guards the dictionary and the error records that it keeps in
// it with its own locks, and records errors by thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// What libyang recorded of one error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) data_path: Option<String>,
    pub(crate) schema_path: Option<String>,
    pub(crate) app_tag: Option<String>,
    /// Line of the input, where it is known.
    pub(crate) line: u64,
}

impl Context {
    /// An empty context that gets the modules it imports from `provided`.
    pub(crate) fn new(provided: &'static [Provided]) -> Option<Self> {
        let options =
            ffi::LY_CTX_DISABLE_SEARCHDIRS | ffi::LY_CTX_EXPLICIT_COMPILE | ffi::LY_CTX_SET_PRIV_PARSED;
        let mut context = ptr::null_mut();
        // SAFETY: the search directory may be null, the result is checked; the slice that the callback gets is
        // 'static. The log options are global: errors are stored, nothing is printed.
        unsafe {
            ffi::ly_log_options(ffi::LY_LOSTORE);
            if ffi::ly_ctx_new(ptr::null(), options, &mut context) != ffi::LY_ERR::LY_SUCCESS {
                return None;
            }
            let data = ptr::from_ref::<&'static [Provided]>(Box::leak(Box::new(provided)));
            ffi::ly_ctx_set_module_imp_clb(context, Some(provide), data.cast_mut().cast::<c_void>());
        }
        NonNull::new(context).map(Self)
    }

    /// The pointer, for the oracle.
    pub(crate) fn as_ptr(&self) -> *mut ffi::ly_ctx {
        self.0.as_ptr()
    }

    /// Loads a module as implemented; false when libyang has recorded why not.
    pub(crate) fn load(&self, name: &CStr, revision: Option<&CStr>, features: &[CString]) -> bool {
        let mut list: Vec<*const c_char> = features.iter().map(|feature| feature.as_ptr()).collect();
        list.push(ptr::null());
        let revision = revision.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: all strings end with NUL and the list with a null pointer, and they outlive the call.
        let module =
            unsafe { ffi::ly_ctx_load_module(self.as_ptr(), name.as_ptr(), revision, list.as_mut_ptr()) };
        !module.is_null()
    }

    /// Compiles what has been loaded; false when libyang has recorded why not.
    pub(crate) fn compile(&self) -> bool {
        // SAFETY: the context is valid.
        unsafe { ffi::ly_ctx_compile(self.as_ptr()) == ffi::LY_ERR::LY_SUCCESS }
    }

    /// The errors recorded by this thread since the last call, in libyang's order; warnings are dropped.
    pub(crate) fn take_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        // SAFETY: the records are a list that ends with null and is valid until it is cleaned below.
        unsafe {
            let mut item = ffi::ly_err_first(self.as_ptr());
            while let Some(record) = item.as_ref() {
                if record.level == ffi::LY_LOG_LEVEL::LY_LLERR {
                    faults.push(Fault {
                        message: owned(record.msg).unwrap_or_default(),
                        data_path: owned(record.data_path),
                        schema_path: owned(record.schema_path),
                        app_tag: owned(record.apptag),
                        line: record.line,
                    });
                }
                item = record.next;
            }
            ffi::ly_err_clean(self.as_ptr(), ptr::null_mut());
        }
        faults
    }

    /// All modules of a leaked context, libyang's own included.
    pub(crate) fn modules(&'static self) -> Vec<ModuleRef> {
        let mut index = 0;
        let mut modules = Vec::new();
        // SAFETY: the iterator ends with null.
        unsafe {
            while let Some(module) = ffi::ly_ctx_get_module_iter(self.as_ptr(), &mut index).as_ref() {
                modules.push(ModuleRef(module));
            }
        }
        modules
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: views exist of leaked contexts only, which are not dropped.
        unsafe { ffi::ly_ctx_destroy(self.as_ptr()) }
    }
}

/// libyang's callback for a module that it has not got.
///
/// # Safety
/// `data` is the pointer that [`Context::new`] registered; the names are C strings or null.
unsafe extern "C" fn provide(
    name: *const c_char,
    revision: *const c_char,
    submodule: *const c_char,
    _submodule_revision: *const c_char,
    data: *mut c_void,
    format: *mut ffi::LYS_INFORMAT::Type,
    text: *mut *const c_char,
    _free: *mut ffi::ly_module_imp_data_free_clb,
) -> ffi::LY_ERR::Type {
    // SAFETY: the contract of this function; the text is 'static, so libyang need not free it.
    unsafe {
        let provided: &[Provided] = *data.cast::<&'static [Provided]>();
        if name.is_null() || !submodule.is_null() {
            return ffi::LY_ERR::LY_ENOTFOUND;
        }
        let name = CStr::from_ptr(name);
        let revision = (!revision.is_null()).then(|| CStr::from_ptr(revision));
        let fits = |module: &&Provided| {
            module.name.as_c_str() == name && (revision.is_none() || module.revision.as_deref() == revision)
        };
        let Some(module) = provided.iter().find(fits) else { return ffi::LY_ERR::LY_ENOTFOUND };
        *format = ffi::LYS_INFORMAT::LYS_IN_YANG;
        *text = module.text.as_ptr();
    }
    ffi::LY_ERR::LY_SUCCESS
}

/// # Safety
/// `text` is null or a C string.
pub(crate) unsafe fn owned(text: *const c_char) -> Option<String> {
    // SAFETY: the contract of this function.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

// The three ways into a leaked context. They are not marked unsafe so that the views stay readable; they are
// private, and called in this module only, with fields of leaked records.

fn text(pointer: *const c_char) -> Option<&'static str> {
    // SAFETY: a string of a leaked context; libyang has checked that modules are UTF-8.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or_default())
}

fn one<T>(pointer: *const T) -> Option<&'static T> {
    // SAFETY: null, or a record of a leaked context.
    unsafe { pointer.as_ref() }
}

/// A sized array of libyang: the count stands in the eight octets before the first element.
fn array<T>(pointer: *const T) -> &'static [T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: a sized array of a leaked context (tree.h, LY_ARRAY_COUNT_TYPE is uint64_t).
    unsafe {
        let count = pointer.cast::<u64>().sub(1).read();
        std::slice::from_raw_parts(pointer, usize::try_from(count).unwrap_or(0))
    }
}

/// A module.
#[derive(Clone, Copy)]
pub(crate) struct ModuleRef(&'static ffi::lys_module);

impl PartialEq for ModuleRef {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl ModuleRef {
    pub(crate) fn name(self) -> &'static str {
        text(self.0.name).unwrap_or_default()
    }

    pub(crate) fn revision(self) -> Option<&'static str> {
        text(self.0.revision)
    }

    pub(crate) fn namespace(self) -> &'static str {
        text(self.0.ns).unwrap_or_default()
    }

    pub(crate) fn prefix(self) -> &'static str {
        text(self.0.prefix).unwrap_or_default()
    }

    pub(crate) fn implemented(self) -> bool {
        self.0.implemented != 0
    }

    pub(crate) fn features(self) -> Vec<&'static str> {
        let compiled = one(self.0.compiled);
        compiled
            .map_or(&[] as &[_], |module| array(module.features))
            .iter()
            .filter_map(|name| text(*name))
            .collect()
    }

    /// Whether it deviates a node of the other module. libyang's own list has the module that a path begins with.
    pub(crate) fn deviates(self, other: ModuleRef) -> bool {
        let Some(parsed) = one(self.0.parsed) else { return false };
        let imported = |prefix: &str| {
            let import = array(parsed.imports).iter().find(|import| text(import.prefix) == Some(prefix))?;
            one(import.module)
        };
        let paths = array(parsed.deviations).iter().filter_map(|deviation| text(deviation.nodeid));
        let mut targets = paths.filter_map(|path| path.rsplit('/').next()?.split_once(':'));
        targets.any(|(prefix, _)| imported(prefix).is_some_and(|module| ptr::eq(module, other.0)))
    }

    pub(crate) fn imports(self) -> Vec<ModuleRef> {
        let parsed = one(self.0.parsed);
        let imports = parsed.map_or(&[] as &[_], |module| array(module.imports));
        imports.iter().filter_map(|import| one(import.module)).map(ModuleRef).collect()
    }

    pub(crate) fn identities(self) -> impl Iterator<Item = IdentityRef> {
        array(self.0.identities).iter().map(IdentityRef)
    }

    /// Top-level data nodes, RPCs and notifications.
    pub(crate) fn roots(self) -> Vec<NodeRef> {
        let Some(compiled) = one(self.0.compiled) else { return Vec::new() };
        let lists = [compiled.data, compiled.rpcs.cast(), compiled.notifs.cast()];
        lists.into_iter().flat_map(siblings).collect()
    }

    /// The typedef of that name at the top of the module.
    fn typedef(self, name: &str) -> Option<&'static ffi::lysp_tpdf> {
        let typedefs = one(self.0.parsed).map_or(&[] as &[_], |module| array(module.typedefs));
        typedefs.iter().find(|typedef| text(typedef.name) == Some(name))
    }

    /// The module as YANG text, printed from what libyang has parsed.
    pub(crate) fn print(self) -> Option<String> {
        let mut printed = ptr::null_mut();
        // SAFETY: the module is valid; the text is copied, then freed as libyang asks for.
        unsafe {
            let result = ffi::lys_print_mem(&mut printed, self.0, ffi::LYS_OUTFORMAT::LYS_OUT_YANG, 0);
            let text = owned(printed);
            ffi::free(printed.cast());
            text.filter(|_| result == ffi::LY_ERR::LY_SUCCESS)
        }
    }
}

/// An identity.
#[derive(Clone, Copy)]
pub(crate) struct IdentityRef(&'static ffi::lysc_ident);

impl IdentityRef {
    pub(crate) fn name(self) -> &'static str {
        text(self.0.name).unwrap_or_default()
    }

    pub(crate) fn module(self) -> Option<ModuleRef> {
        one(self.0.module).map(ModuleRef)
    }

    /// Those derived from it directly.
    pub(crate) fn derived(self) -> Vec<IdentityRef> {
        array(self.0.derived).iter().filter_map(|identity| one(*identity)).map(IdentityRef).collect()
    }
}

/// An XPath expression as it was written, with the prefixes that it uses.
pub(crate) struct Written {
    pub(crate) text: &'static str,
    pub(crate) prefixes: Vec<(&'static str, ModuleRef)>,
}

fn written(expression: *const ffi::lyxp_expr, prefixes: *const ffi::lysc_prefix) -> Written {
    // SAFETY: an expression of a leaked context.
    let text_of = unsafe { ffi::lyxp_get_expr(expression) };
    let pair = |prefix: &ffi::lysc_prefix| Some((text(prefix.prefix)?, ModuleRef(one(prefix.mod_)?)));
    Written {
        text: text(text_of).unwrap_or_default(),
        prefixes: array(prefixes).iter().filter_map(pair).collect(),
    }
}

/// A `must`.
#[derive(Clone, Copy)]
pub(crate) struct MustRef(&'static ffi::lysc_must);

impl MustRef {
    pub(crate) fn condition(self) -> Written {
        written(self.0.cond, self.0.prefixes)
    }

    pub(crate) fn message(self) -> Option<&'static str> {
        text(self.0.emsg)
    }

    pub(crate) fn app_tag(self) -> Option<&'static str> {
        text(self.0.eapptag)
    }
}

/// A `when`.
#[derive(Clone, Copy)]
pub(crate) struct WhenRef(&'static ffi::lysc_when);

impl WhenRef {
    pub(crate) fn condition(self) -> Written {
        written(self.0.cond, self.0.prefixes)
    }

    /// Whether `node` is the context node; otherwise an ancestor is.
    pub(crate) fn is_on(self, node: NodeRef) -> bool {
        ptr::eq(self.0.context, node.0)
    }
}

/// An extension used on a node.
pub(crate) struct ExtensionUse {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
    pub(crate) argument: Option<&'static str>,
}

/// Any schema node.
#[derive(Clone, Copy)]
pub(crate) struct NodeRef(&'static ffi::lysc_node);

fn siblings(first: *mut ffi::lysc_node) -> Vec<NodeRef> {
    std::iter::successors(one(first.cast_const()), |node| one(node.next.cast_const())).map(NodeRef).collect()
}

impl NodeRef {
    /// A number that tells it from other nodes.
    pub(crate) fn address(self) -> usize {
        ptr::from_ref(self.0).addr()
    }

    /// One of `LYS_CONTAINER` and so on.
    pub(crate) fn kind(self) -> u32 {
        u32::from(self.0.nodetype)
    }

    /// Whether one of `LYS_CONFIG_W` and so on is set.
    pub(crate) fn has(self, flag: u32) -> bool {
        u32::from(self.0.flags) & flag != 0
    }

    pub(crate) fn name(self) -> &'static str {
        text(self.0.name).unwrap_or_default()
    }

    pub(crate) fn module(self) -> Option<ModuleRef> {
        one(self.0.module).map(ModuleRef)
    }

    pub(crate) fn description(self) -> Option<&'static str> {
        text(self.0.dsc)
    }

    /// The node as the record that its kind says it is.
    fn record<T>(self) -> &'static T {
        // SAFETY: every kind of node begins with lysc_node, and the callers have checked the kind.
        unsafe { &*ptr::from_ref(self.0).cast::<T>() }
    }

    /// Children, then actions, then notifications; the cases of a choice; the input and output of an RPC.
    pub(crate) fn children(self) -> Vec<NodeRef> {
        match self.kind() {
            ffi::LYS_CONTAINER => {
                let node: &ffi::lysc_node_container = self.record();
                [node.child, node.actions.cast(), node.notifs.cast()].into_iter().flat_map(siblings).collect()
            }
            ffi::LYS_LIST => {
                let node: &ffi::lysc_node_list = self.record();
                [node.child, node.actions.cast(), node.notifs.cast()].into_iter().flat_map(siblings).collect()
            }
            ffi::LYS_CHOICE => siblings(self.record::<ffi::lysc_node_choice>().cases.cast()),
            ffi::LYS_CASE => {
                // The children of all cases are one chain: those of another case end it.
                let ours = |node: &NodeRef| ptr::eq(node.0.parent, self.0);
                siblings(self.record::<ffi::lysc_node_case>().child).into_iter().filter(ours).collect()
            }
            ffi::LYS_RPC | ffi::LYS_ACTION => {
                let node: &'static ffi::lysc_node_action = self.record();
                let halves = [ptr::from_ref(&node.input), ptr::from_ref(&node.output)];
                halves
                    .into_iter()
                    .filter_map(|half| one(half.cast::<ffi::lysc_node>()))
                    .map(NodeRef)
                    .collect()
            }
            ffi::LYS_INPUT | ffi::LYS_OUTPUT => siblings(self.record::<ffi::lysc_node_action_inout>().child),
            ffi::LYS_NOTIF => siblings(self.record::<ffi::lysc_node_notif>().child),
            _ => Vec::new(),
        }
    }

    pub(crate) fn whens(self) -> Vec<WhenRef> {
        // SAFETY: a valid node.
        let whens = unsafe { ffi::lysc_node_when(self.0) };
        array(whens).iter().filter_map(|when| one(*when)).map(WhenRef).collect()
    }

    pub(crate) fn musts(self) -> Vec<MustRef> {
        // SAFETY: a valid node.
        let musts = unsafe { ffi::lysc_node_musts(self.0) };
        array(musts).iter().map(MustRef).collect()
    }

    pub(crate) fn extensions(self) -> Vec<ExtensionUse> {
        let used = |instance: &ffi::lysc_ext_instance| {
            let definition = one(instance.def)?;
            Some(ExtensionUse {
                module: ModuleRef(one(definition.module)?).name(),
                name: text(definition.name)?,
                argument: text(instance.argument),
            })
        };
        array(self.0.exts).iter().filter_map(used).collect()
    }

    /// The type of a leaf or leaf-list.
    pub(crate) fn ty(self) -> Option<TypeView> {
        match self.kind() {
            ffi::LYS_LEAF => one(self.record::<ffi::lysc_node_leaf>().type_),
            ffi::LYS_LEAFLIST => one(self.record::<ffi::lysc_node_leaflist>().type_),
            _ => None,
        }
        .map(TypeView)
    }

    /// The `type` statement of a leaf or leaf-list.
    pub(crate) fn type_statement(self) -> Option<TypeStatement> {
        match self.kind() {
            ffi::LYS_LEAF => one(self.0.priv_.cast::<ffi::lysp_node_leaf>()).map(|leaf| &leaf.type_),
            ffi::LYS_LEAFLIST => one(self.0.priv_.cast::<ffi::lysp_node_leaflist>()).map(|leaf| &leaf.type_),
            _ => None,
        }
        .map(TypeStatement)
    }

    pub(crate) fn units(self) -> Option<&'static str> {
        match self.kind() {
            ffi::LYS_LEAF => text(self.record::<ffi::lysc_node_leaf>().units),
            ffi::LYS_LEAFLIST => text(self.record::<ffi::lysc_node_leaflist>().units),
            _ => None,
        }
    }

    /// Default values in canonical form.
    pub(crate) fn defaults(self) -> Vec<String> {
        let values = match self.kind() {
            ffi::LYS_LEAF => std::slice::from_ref(&self.record::<ffi::lysc_node_leaf>().dflt),
            ffi::LYS_LEAFLIST => array(self.record::<ffi::lysc_node_leaflist>().dflts),
            _ => &[],
        };
        values.iter().filter_map(|value| self.canonical(value)).collect()
    }

    fn canonical(self, value: &ffi::lysc_value) -> Option<String> {
        let plain = text(value.str_)?;
        let mut canonical = ptr::null();
        // SAFETY: a valid node and value; the canonical text is copied here, and stays in the dictionary.
        let result = unsafe {
            ffi::lyd_value_validate_dflt(
                self.0,
                value.str_,
                value.prefixes,
                ptr::null(),
                ptr::null_mut(),
                &mut canonical,
            )
        };
        let known = result == ffi::LY_ERR::LY_SUCCESS || result == ffi::LY_ERR::LY_EINCOMPLETE;
        Some(text(canonical).filter(|_| known).unwrap_or(plain).to_owned())
    }

    /// `(min-elements, max-elements)` of a list or leaf-list.
    pub(crate) fn elements(self) -> (u32, Option<u32>) {
        let (min, max) = match self.kind() {
            ffi::LYS_LIST => {
                let list: &ffi::lysc_node_list = self.record();
                (list.min, list.max)
            }
            ffi::LYS_LEAFLIST => {
                let list: &ffi::lysc_node_leaflist = self.record();
                (list.min, list.max)
            }
            _ => (0, u32::MAX),
        };
        (min, (max != u32::MAX && max != 0).then_some(max))
    }

    /// Each `unique` of a list as its leafs.
    pub(crate) fn uniques(self) -> Vec<Vec<NodeRef>> {
        if self.kind() != ffi::LYS_LIST {
            return Vec::new();
        }
        let leafs = |unique: &*mut *mut ffi::lysc_node_leaf| {
            let leafs = array(unique.cast_const());
            leafs.iter().filter_map(|leaf| one(leaf.cast::<ffi::lysc_node>())).map(NodeRef).collect()
        };
        array(self.record::<ffi::lysc_node_list>().uniques).iter().map(leafs).collect()
    }

    /// The default case of a choice.
    pub(crate) fn default_case(self) -> Option<NodeRef> {
        if self.kind() != ffi::LYS_CHOICE {
            return None;
        }
        one(self.record::<ffi::lysc_node_choice>().dflt.cast::<ffi::lysc_node>()).map(NodeRef)
    }

    /// What a leaf of type leafref refers to, as libyang sees it.
    #[cfg(test)]
    pub(crate) fn leafref_target(self) -> Option<NodeRef> {
        // SAFETY: a valid node.
        one(unsafe { ffi::lysc_node_lref_target(self.0) }).map(NodeRef)
    }
}

/// A compiled type.
#[derive(Clone, Copy)]
pub(crate) struct TypeView(&'static ffi::lysc_type);

/// One enum or bit.
pub(crate) struct NamedValue {
    pub(crate) name: &'static str,
    pub(crate) value: i64,
    pub(crate) description: Option<&'static str>,
}

/// One `pattern`.
#[derive(Clone, Copy)]
pub(crate) struct PatternRef(&'static ffi::lysc_pattern);

impl PatternRef {
    pub(crate) fn regex(self) -> &'static str {
        text(self.0.expr).unwrap_or_default()
    }

    pub(crate) fn inverted(self) -> bool {
        self.0.inverted() != 0
    }

    pub(crate) fn message(self) -> Option<&'static str> {
        text(self.0.emsg)
    }

    pub(crate) fn app_tag(self) -> Option<&'static str> {
        text(self.0.eapptag)
    }
}

impl TypeView {
    /// One of `LY_TYPE_BINARY` and so on.
    pub(crate) fn base(self) -> ffi::LY_DATA_TYPE::Type {
        self.0.basetype
    }

    /// Name of the typedef that was used, without prefix.
    pub(crate) fn typedef_name(self) -> Option<&'static str> {
        text(self.0.name)
    }

    /// The name of libyang's plugin, which follows the typedef that the type is derived from.
    pub(crate) fn plugin(self) -> &'static str {
        // SAFETY: a valid reference to a plugin, whose record begins with its name.
        let plugin = unsafe { ffi::lysc_get_type_plugin(self.0.plugin_ref) };
        one(plugin.cast_const().cast::<*const c_char>()).and_then(|name| text(*name)).unwrap_or_default()
    }

    fn record<T>(self) -> &'static T {
        // SAFETY: every type begins with lysc_type, and the callers have checked the base type.
        unsafe { &*ptr::from_ref(self.0).cast::<T>() }
    }

    /// `length` of binary and string.
    pub(crate) fn length(self) -> Vec<(u64, u64)> {
        let range = match self.base() {
            ffi::LY_DATA_TYPE::LY_TYPE_BINARY => self.record::<ffi::lysc_type_bin>().length,
            ffi::LY_DATA_TYPE::LY_TYPE_STRING => self.record::<ffi::lysc_type_str>().length,
            _ => ptr::null_mut(),
        };
        // SAFETY: lengths are kept unsigned.
        parts(range)
            .iter()
            .map(|part| unsafe { (part.__bindgen_anon_1.min_u64, part.__bindgen_anon_2.max_u64) })
            .collect()
    }

    /// `range` of the integers and decimal64, scaled.
    pub(crate) fn range(self) -> Vec<(i128, i128)> {
        let range = match self.base() {
            ffi::LY_DATA_TYPE::LY_TYPE_DEC64 => self.record::<ffi::lysc_type_dec>().range,
            _ => self.record::<ffi::lysc_type_num>().range,
        };
        let signed = self.base() >= ffi::LY_DATA_TYPE::LY_TYPE_DEC64;
        // SAFETY: ranges are kept signed from decimal64 on, unsigned before (tree_schema.h, lysc_range).
        let span = |part: &ffi::lysc_range_lysc_range_part| unsafe {
            if signed {
                (i128::from(part.__bindgen_anon_1.min_64), i128::from(part.__bindgen_anon_2.max_64))
            } else {
                (i128::from(part.__bindgen_anon_1.min_u64), i128::from(part.__bindgen_anon_2.max_u64))
            }
        };
        parts(range).iter().map(span).collect()
    }

    pub(crate) fn fraction_digits(self) -> u8 {
        self.record::<ffi::lysc_type_dec>().fraction_digits
    }

    pub(crate) fn patterns(self) -> Vec<PatternRef> {
        let patterns = array(self.record::<ffi::lysc_type_str>().patterns);
        patterns.iter().filter_map(|pattern| one(*pattern)).map(PatternRef).collect()
    }

    /// The enums or bits.
    pub(crate) fn named(self) -> Vec<NamedValue> {
        let bits = self.base() == ffi::LY_DATA_TYPE::LY_TYPE_BITS;
        let items = if bits {
            array(self.record::<ffi::lysc_type_bits>().bits)
        } else {
            array(self.record::<ffi::lysc_type_enum>().enums)
        };
        let named = |item: &ffi::lysc_type_bitenum_item| NamedValue {
            name: text(item.name).unwrap_or_default(),
            // SAFETY: bits have a position, enums a value.
            value: unsafe {
                if bits {
                    i64::from(item.__bindgen_anon_1.position)
                } else {
                    i64::from(item.__bindgen_anon_1.value)
                }
            },
            description: text(item.dsc),
        };
        items.iter().map(named).collect()
    }

    pub(crate) fn bases(self) -> Vec<IdentityRef> {
        let bases = array(self.record::<ffi::lysc_type_identityref>().bases);
        bases.iter().filter_map(|base| one(*base)).map(IdentityRef).collect()
    }

    pub(crate) fn leafref_path(self) -> Written {
        let leafref: &ffi::lysc_type_leafref = self.record();
        written(leafref.path, leafref.prefixes)
    }

    pub(crate) fn leafref_real(self) -> Option<TypeView> {
        one(self.record::<ffi::lysc_type_leafref>().realtype).map(TypeView)
    }

    /// `require-instance` of leafref and instance-identifier.
    pub(crate) fn requires_instance(self) -> bool {
        match self.base() {
            ffi::LY_DATA_TYPE::LY_TYPE_LEAFREF => {
                self.record::<ffi::lysc_type_leafref>().require_instance != 0
            }
            _ => self.record::<ffi::lysc_type_instanceid>().require_instance != 0,
        }
    }

    pub(crate) fn members(self) -> Vec<TypeView> {
        let types = array(self.record::<ffi::lysc_type_union>().types);
        types.iter().filter_map(|member| one(*member)).map(TypeView).collect()
    }
}

fn parts(range: *const ffi::lysc_range) -> &'static [ffi::lysc_range_lysc_range_part] {
    one(range).map_or(&[], |range| array(range.parts))
}

/// A `type` statement, which unlike the compiled type says the module of a typedef.
#[derive(Clone, Copy)]
pub(crate) struct TypeStatement(&'static ffi::lysp_type);

impl TypeStatement {
    /// Name of the type or typedef without prefix.
    pub(crate) fn name(self) -> &'static str {
        let name = text(self.0.name).unwrap_or_default();
        name.split_once(':').map_or(name, |(_, name)| name)
    }

    /// The module that the name's prefix, or its absence, stands for.
    pub(crate) fn module(self) -> Option<ModuleRef> {
        let written_in = one(self.0.pmod)?;
        let own = ModuleRef(one(written_in.mod_)?);
        let Some((prefix, _)) = text(self.0.name).and_then(|name| name.split_once(':')) else {
            return Some(own);
        };
        let import = array(written_in.imports).iter().find(|import| text(import.prefix) == Some(prefix));
        import.map_or(Some(own), |import| one(import.module).map(ModuleRef))
    }

    /// The `type` statement of the typedef that it names; absent for a built-in type, and for a typedef that is
    /// not at the top of its module.
    pub(crate) fn definition(self) -> Option<TypeStatement> {
        self.module()?.typedef(self.name()).map(|typedef| TypeStatement(&typedef.type_))
    }

    /// The members of a union.
    pub(crate) fn members(self) -> impl Iterator<Item = TypeStatement> {
        array(self.0.types).iter().map(TypeStatement)
    }
}
