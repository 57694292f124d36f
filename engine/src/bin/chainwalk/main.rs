//! `chainwalk`: the command line over the engine.
//!
//! Owns arguments, files and exit codes. What it prints is made by [`chainwalk_engine::replay`].

mod proxy;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::netns::Netns;
use chainwalk_engine::replay::{self, FactInput, Facts, Paste, Session, line, render};
use chainwalk_engine::text::diag::{Diag, Severity};
use chainwalk_engine::text::xt::{self, ParseOptions};
use chainwalk_engine::trace::Level;

/// Shows what a Linux node's kernel does to a packet.
#[derive(Debug, Parser)]
#[command(name = "chainwalk", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one node and its packets from a JSON case, and print one JSON object.
    Replay(ReplayArgs),
    /// Show the way of one packet through a ruleset, as text.
    ///
    /// A ruleset alone says nothing of addresses and routes. What is not given is inferred from the rules and the
    /// packet, and every assumption is printed with the option that would state it.
    Trace(TraceArgs),
    /// Print what kube-proxy programs on a node for Services and EndpointSlices.
    Proxy(proxy::Args),
}

#[derive(Debug, Args)]
struct TraceArgs {
    /// Output of iptables-save, nft list ruleset, ipset save or ipvsadm -Sn, also one behind the other, or commands of
    /// nft; may be given several times, `-` reads standard input.
    #[arg(long, required = true, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// The packet: `tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0`, then words such as `flags SA`, `len 100`,
    /// `mark 0x1`, `ttl 3`, `type 8`. `in local` means that a process of the node sends it.
    #[arg(long, value_name = "LINE")]
    packet: String,
    /// Output of `ip addr`, also with -br or -j.
    #[arg(long, value_name = "FILE")]
    ip_addr: Option<PathBuf>,
    /// Output of `ip route`, also with -6 or -j.
    #[arg(long, value_name = "FILE")]
    ip_route: Option<PathBuf>,
    /// An address of the node, `eth0=10.0.0.1/24`.
    #[arg(long, value_name = "DEV=ADDRESS/LEN")]
    addr: Vec<String>,
    /// A route, `default=10.0.0.254@eth0`; `10.9.0.0/16=@eth0` for what is on the link.
    #[arg(long, value_name = "PREFIX=GATEWAY@DEV")]
    route: Vec<String>,
    /// A kernel parameter, `net.ipv4.ip_forward=1`.
    #[arg(long, value_name = "NAME=VALUE")]
    sysctl: Vec<String>,
    /// Kernel version to imitate.
    #[arg(long, default_value = "6.18")]
    kernel: String,
    /// Which tool the rules are for.
    #[arg(long, value_enum, default_value = "legacy")]
    flavour: FlavourArg,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also show the rules that did not match, with the test that failed.
    #[arg(long)]
    all: bool,
    /// Then send what the peer answers, this many times.
    #[arg(long, default_value_t = 0, value_name = "N")]
    reply: u32,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FlavourArg {
    Legacy,
    Nft,
}

#[derive(Debug, Args)]
struct ReplayArgs {
    /// The case, format chainwalk.replay/1; `-` reads standard input.
    case: PathBuf,
    /// List every rule evaluated, not only those that matched.
    #[arg(long)]
    all: bool,
    /// With each rule its tests: the packet's value beside the wanted one.
    #[arg(long)]
    why: bool,
    /// Indent the output.
    #[arg(long)]
    pretty: bool,
}

/// Exit status for input that could not be read; 1 is left to a broken pipe and the like.
const UNREADABLE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printed = match cli.command {
        Command::Replay(args) => replay_case(&args),
        Command::Trace(args) => trace(&args),
        Command::Proxy(args) => proxy::run(&args),
    };
    match printed {
        Ok(text) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(message) => {
            // Nothing is left to say when standard error is closed too.
            let _ = writeln!(std::io::stderr().lock(), "{message}");
            ExitCode::from(UNREADABLE)
        }
    }
}

/// A file's text, `-` for standard input.
fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let got = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    got.map_err(|error| format!("{}: {error}", path.display()))?;
    String::from_utf8(bytes).map_err(|error| {
        format!("{}: not a text: byte {} is not UTF-8", path.display(), error.utf8_error().valid_up_to())
    })
}

fn replay_case(args: &ReplayArgs) -> Result<String, String> {
    let name = args.case.display();
    let text = read(&args.case)?;
    let options = replay::Options { all: args.all, why: args.why };
    let report = replay::parse(&text)
        .and_then(|case| replay::run(&case, &options))
        .map_err(|error| format!("{name}: {error}"))?;
    let text =
        if args.pretty { serde_json::to_string_pretty(&report) } else { serde_json::to_string(&report) };
    text.map(|text| text + "\n").map_err(|error| format!("{name}: {error}"))
}

/// Messages about a text go to standard error with the name of the text.
fn report(name: &str, diags: &[Diag]) {
    let mut err = std::io::stderr().lock();
    for diag in diags {
        let _ = writeln!(err, "{name}: {diag}");
    }
}

fn trace(args: &TraceArgs) -> Result<String, String> {
    let spec = line::parse(&args.packet).map_err(|diag| {
        let marker =
            " ".repeat(diag.column.saturating_sub(1) as usize) + &"^".repeat(diag.len.max(1) as usize);
        format!("--packet: column {}: {}\n  {}\n  {marker}", diag.column, diag.message, args.packet)
    })?;
    let flavour = match args.flavour {
        FlavourArg::Legacy => Flavour::Legacy,
        FlavourArg::Nft => Flavour::Nft,
    };
    let kernel = args.kernel.parse().map_err(|message| format!("--kernel: {message}"))?;
    let mut netns = Netns::new(kernel, args.seed);
    let texts: Vec<(String, String)> = args
        .rules
        .iter()
        .map(|path| Ok((path.display().to_string(), read(path)?)))
        .collect::<Result<_, String>>()?;
    let mut rulesets = Vec::new();
    let mut pastes = Vec::new();
    for (name, text) in &texts {
        let paste = Paste::split(text);
        report(name, paste.notes());
        paste.load_before(&mut netns).map_err(|diag| format!("{name}: {diag}"))?;
        if let Some(rules) = paste.iptables() {
            let options = ParseOptions { flavour: Some(flavour), ..ParseOptions::default() };
            let (ruleset, diags) = xt::parse(rules, &options);
            report(name, &diags);
            if ruleset.tables.is_empty() {
                return Err(format!("{name}: no table was read"));
            }
            rulesets.push(ruleset);
        }
        pastes.push((name, paste));
    }
    let facts = Facts {
        ip_addr: args.ip_addr.as_deref().map(read).transpose()?.unwrap_or_default(),
        ip_route: args.ip_route.as_deref().map(read).transpose()?.unwrap_or_default(),
        addresses: args.addr.clone(),
        routes: args.route.clone(),
        sysctls: args.sysctl.clone(),
    };
    let level = if args.all { Level::Full } else { Level::Matched };
    let mut session = Session::on(netns, rulesets);
    for (name, paste) in &pastes {
        let notes = paste.load_nft(&mut session).map_err(|diag| format!("{name}: {diag}"))?;
        report(name, &notes);
    }
    let notes = session.start(spec, &facts, level).map_err(|message| format!("--packet: {message}"))?;
    let mut refused = None;
    for (input, diag) in &notes {
        let name = match input {
            FactInput::IpAddr => "--ip-addr".to_owned(),
            FactInput::IpRoute => "--ip-route".to_owned(),
            FactInput::Address(at) => format!("--addr {}", args.addr[*at]),
            FactInput::Route(at) => format!("--route {}", args.route[*at]),
            FactInput::Sysctl(at) => format!("--sysctl {}", args.sysctl[*at]),
        };
        // A pasted text may hold lines of no use; an option that is wrong is a mistake.
        let pasted = matches!(input, FactInput::IpAddr | FactInput::IpRoute);
        if pasted || diag.severity != Severity::Error {
            report(&name, std::slice::from_ref(diag));
        } else {
            refused = Some(format!("{name}: {}", diag.message));
        }
    }
    if let Some(message) = refused {
        return Err(message);
    }
    for _ in 0..args.reply {
        if session.reply_spec().is_none() {
            break;
        }
        session.reply(level)?;
    }
    let mut out = render::assumptions(session.assumptions());
    let sent: Vec<String> = session.sent().iter().map(|s| render::sent(session.netns(), s)).collect();
    out.push_str(&sent.join("\n"));
    Ok(out)
}
