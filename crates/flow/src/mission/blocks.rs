//! The table of blocks: attributes, nested blocks, required ones, and old names.

/// A kind of block.
pub(super) struct BlockSpec {
    /// The word before the label.
    pub(super) kind: &'static str,
    /// `true` if it has one label, `false` if it has none.
    pub(super) has_label: bool,
    /// The attributes.
    pub(super) attributes: &'static [AttributeSpec],
    /// The blocks inside.
    pub(super) blocks: &'static [(&'static BlockSpec, BlockCount)],
    /// Names of attributes and blocks that Squadron no longer has, and what to write instead.
    pub(super) old: &'static [(&'static str, &'static str)],
    /// `true` if any attribute is allowed.
    pub(super) is_open: bool,
}

/// An attribute of a block.
pub(super) struct AttributeSpec {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
}

/// The number of blocks of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCount {
    /// Exactly one.
    One,
    /// At most one.
    Optional,
    /// At least one.
    Some,
    /// Any number.
    Any,
}

use BlockCount::{Any, One, Optional, Some as AtLeastOne};

const fn must(name: &'static str) -> AttributeSpec {
    AttributeSpec {
        name,
        is_required: true,
    }
}

const fn may(name: &'static str) -> AttributeSpec {
    AttributeSpec {
        name,
        is_required: false,
    }
}

const fn plain(kind: &'static str, attributes: &'static [AttributeSpec]) -> BlockSpec {
    BlockSpec {
        kind,
        has_label: false,
        attributes,
        blocks: &[],
        old: &[],
        is_open: false,
    }
}

const fn named(kind: &'static str, attributes: &'static [AttributeSpec]) -> BlockSpec {
    BlockSpec {
        has_label: true,
        ..plain(kind, attributes)
    }
}

static SETTINGS: BlockSpec = BlockSpec {
    is_open: true,
    ..plain("settings", &[])
};
static FIELD: BlockSpec = named(
    "field",
    &[must("type"), may("description"), may("required")],
);
static INPUT_FIELD: BlockSpec = named(
    "field",
    &[
        must("type"),
        may("description"),
        may("required"),
        may("default"),
        may("protected"),
        may("value"),
    ],
);
static TOOL_INPUTS: BlockSpec = BlockSpec {
    blocks: &[(&FIELD, Any)],
    ..plain("inputs", &[])
};
static MISSION_INPUTS: BlockSpec = BlockSpec {
    blocks: &[(&INPUT_FIELD, Any)],
    ..plain("inputs", &[])
};
static OUTPUT: BlockSpec = BlockSpec {
    blocks: &[(&FIELD, Any)],
    ..plain("output", &[])
};
static SCHEMA: BlockSpec = BlockSpec {
    blocks: &[(&FIELD, Any)],
    ..plain("schema", &[])
};
static PRICING: BlockSpec = named(
    "pricing",
    &[
        may("input"),
        may("output"),
        may("cache_read"),
        may("cache_write"),
    ],
);
static SKILL: BlockSpec = named(
    "skill",
    // `description` and `instructions` are required without `source`.
    &[
        may("description"),
        may("instructions"),
        may("tools"),
        may("source"),
    ],
);
static PRUNING: BlockSpec = BlockSpec {
    old: &[
        (
            "single_tool_limit",
            "write `prune_on` and `prune_to`, in messages",
        ),
        (
            "all_tool_limit",
            "write `prune_on` and `prune_to`, in messages",
        ),
        ("turn_limit", "write `prune_on` and `prune_to`, in messages"),
    ],
    ..plain("pruning", &[must("prune_on"), must("prune_to")])
};
static COMPACTION: BlockSpec = plain("compaction", &[must("token_limit"), may("turn_retention")]);
static TOOL_RESPONSE: BlockSpec = plain("tool_response", &[must("max_tokens")]);
static AGENT: BlockSpec = BlockSpec {
    blocks: &[
        (&SKILL, Any),
        (&PRUNING, Optional),
        (&COMPACTION, Optional),
        (&TOOL_RESPONSE, Optional),
    ],
    ..named(
        "agent",
        &[
            must("model"),
            must("personality"),
            may("role"),
            may("tools"),
            may("skills"),
            may("reasoning"),
        ],
    )
};
static COMMANDER: BlockSpec = BlockSpec {
    blocks: &[
        (&PRUNING, Optional),
        (&COMPACTION, Optional),
        (&TOOL_RESPONSE, Optional),
    ],
    ..plain("commander", &[must("model"), may("reasoning")])
};
static INPUT: BlockSpec = BlockSpec {
    old: &[("secret", "write `protected = true`")],
    ..named(
        "input",
        &[
            must("type"),
            may("description"),
            may("default"),
            may("protected"),
            may("value"),
        ],
    )
};
static DATASET: BlockSpec = BlockSpec {
    blocks: &[(&SCHEMA, Optional)],
    ..named(
        "dataset",
        &[
            may("description"),
            may("bind_to"),
            may("items"),
            may("schema"),
        ],
    )
};
static ITERATOR: BlockSpec = plain(
    "iterator",
    &[
        must("dataset"),
        may("parallel"),
        may("max_retries"),
        may("concurrency_limit"),
        may("start_delay"),
        may("smoketest"),
    ],
);
static ROUTE: BlockSpec = plain("route", &[must("target"), must("condition"), may("entry")]);
static ROUTER: BlockSpec = BlockSpec {
    blocks: &[(&ROUTE, AtLeastOne)],
    ..plain("router", &[])
};
static BUDGET: BlockSpec = plain("budget", &[may("tokens"), may("dollars")]);
static TASK: BlockSpec = BlockSpec {
    blocks: &[
        (&ITERATOR, Optional),
        (&OUTPUT, Optional),
        (&ROUTER, Optional),
        (&BUDGET, Optional),
    ],
    ..named(
        "task",
        &[
            must("objective"),
            may("agents"),
            may("packets"),
            may("depends_on"),
            may("send_to"),
            may("output"),
        ],
    )
};
static MISSION_MEMORY: BlockSpec = plain("memory", &[must("description")]);
static SCHEDULE: BlockSpec = plain(
    "schedule",
    &[
        may("at"),
        may("every"),
        may("cron"),
        may("weekdays"),
        may("timezone"),
        may("inputs"),
    ],
);
static TRIGGER: BlockSpec = plain("trigger", &[may("webhook_path"), may("secret")]);
static MISSION: BlockSpec = BlockSpec {
    blocks: &[
        (&COMMANDER, One),
        (&AGENT, Any),
        (&TASK, AtLeastOne),
        (&INPUT, Any),
        (&MISSION_INPUTS, Optional),
        (&DATASET, Any),
        (&MISSION_MEMORY, Optional),
        (&SCHEDULE, Any),
        (&TRIGGER, Optional),
        (&BUDGET, Optional),
    ],
    old: &[
        (
            "supervisor_model",
            "write `commander { model = models.BLOCK.NAME }`",
        ),
        (
            "commander",
            "write `commander { model = models.BLOCK.NAME }`",
        ),
        ("folder", "write `memory { description = \"…\" }`"),
        ("run_folder", "write `scratchpad = true`"),
        ("folders", "write `memories = [memories.NAME]`"),
    ],
    ..named(
        "mission",
        &[
            must("agents"),
            may("directive"),
            may("memories"),
            may("packets"),
            may("scratchpad"),
            may("max_parallel"),
            may("inputs"),
        ],
    )
};
static MEMORY: BlockSpec = BlockSpec {
    old: &[
        ("path", "remove it: Prowess keeps the files of memories"),
        ("editable", "remove it: every memory can be changed"),
    ],
    ..named("memory", &[must("description")])
};
static MODEL: BlockSpec = BlockSpec {
    blocks: &[(&PRICING, Any)],
    ..named(
        "model",
        &[
            must("provider"),
            may("api_key"),
            may("base_url"),
            may("aliases"),
            may("prompt_caching"),
            may("allowed_models"),
        ],
    )
};
static TOOL: BlockSpec = BlockSpec {
    blocks: &[(&TOOL_INPUTS, Optional)],
    is_open: true,
    ..named(
        "tool",
        &[must("implements"), may("description"), may("inputs")],
    )
};
static VARIABLE: BlockSpec = named("variable", &[may("default"), may("secret")]);
static VAULT: BlockSpec = plain("vault", &[may("provider")]);
static STORAGE: BlockSpec = plain(
    "storage",
    &[may("backend"), may("path"), may("conn_string")],
);
static COMMAND_CENTER: BlockSpec = plain(
    "command_center",
    &[
        must("url"),
        must("instance_name"),
        may("auto_reconnect"),
        may("reconnect_interval"),
    ],
);
static MCP_HOST: BlockSpec = plain("mcp_host", &[may("enabled"), may("port"), may("secret")]);
static GATEWAY: BlockSpec = BlockSpec {
    blocks: &[(&SETTINGS, Optional)],
    ..named(
        "gateway",
        &[may("source"), must("version"), may("settings")],
    )
};
static PLUGIN: BlockSpec = BlockSpec {
    blocks: &[(&SETTINGS, Optional)],
    ..named("plugin", &[may("source"), must("version"), may("settings")])
};
static PACKET: BlockSpec = named("packet", &[must("path"), may("description")]);
static MCP: BlockSpec = named(
    "mcp",
    &[
        may("command"),
        may("url"),
        may("source"),
        may("args"),
        may("env"),
        may("headers"),
        may("client_id"),
        may("client_secret"),
        may("version"),
        may("entry"),
    ],
);

/// The blocks of a file.
pub(super) static FILE: BlockSpec = BlockSpec {
    blocks: &[
        (&VAULT, Optional),
        (&VARIABLE, Any),
        (&STORAGE, Optional),
        (&COMMAND_CENTER, Optional),
        (&MCP_HOST, Optional),
        (&GATEWAY, Any),
        (&MEMORY, Any),
        (&PACKET, Any),
        (&PLUGIN, Any),
        (&MCP, Any),
        (&MODEL, Any),
        (&TOOL, Any),
        (&SKILL, Any),
        (&AGENT, Any),
        (&MISSION, Any),
    ],
    old: &[
        ("workflow", "write `mission \"NAME\" { … }`"),
        (
            "folder",
            "write `memory { description = \"…\" }` in the mission",
        ),
        ("run_folder", "write `scratchpad = true` in the mission"),
        (
            "shared_folder",
            "write `memory \"NAME\" { description = \"…\" }`",
        ),
    ],
    ..plain("file", &[])
};

impl BlockSpec {
    /// Returns the kind of a nested block.
    pub(super) fn block(&self, kind: &str) -> Option<&'static BlockSpec> {
        let found = self.blocks.iter().find(|(spec, _)| spec.kind == kind);
        found.map(|(spec, _)| *spec)
    }

    /// Returns `true` if it has an attribute of this name.
    pub(super) fn has_attribute(&self, name: &str) -> bool {
        self.attributes.iter().any(|one| one.name == name)
    }

    /// Returns the replacement of an old name.
    pub(super) fn replacement(&self, name: &str) -> Option<&'static str> {
        let found = self.old.iter().find(|(old, _)| *old == name);
        found.map(|(_, help)| *help)
    }

    /// Returns the kinds of blocks that contain a block of this kind, below this one.
    pub(super) fn owners(&self, kind: &str) -> Vec<&'static str> {
        let mut owners = Vec::new();
        for (inner, _) in self.blocks {
            if inner.block(kind).is_some() || inner.has_attribute(kind) {
                owners.push(inner.kind);
            }
            owners.extend(inner.owners(kind));
        }
        owners.sort_unstable();
        owners.dedup();
        owners
    }
}
