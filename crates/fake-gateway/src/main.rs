//! `fake-gateway`: the stand-in as a program, for shell tests and for trying things by hand.
//!
//! Long: it prints addresses and scans, each a few lines.

mod args;

use std::io::{Read as _, Write};
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
use fake_gateway::Gateway;

/// A wait that ends without a scan begins again.
const LONG: Duration = Duration::from_hours(1);

fn main() -> anyhow::Result<()> {
    let args = args::Args::parse();
    let gateway = Gateway::start(args.options()?).context("failed to start")?;
    if let (Some(file), Some(pem)) = (&args.ca_out, gateway.authority_pem()) {
        std::fs::write(file, pem).with_context(|| format!("failed to write {}", file.display()))?;
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", gateway.url())?;
    if args.listen_tls.is_some() {
        writeln!(stdout, "{}", gateway.tls_url())?;
    }
    stdout.flush()?;
    if args.end_with_stdin {
        std::io::stdin().read_to_end(&mut Vec::new())?;
        return Ok(());
    }
    if args.print_scans {
        return print_scans(&gateway, &mut stdout);
    }
    loop {
        std::thread::park();
    }
}

/// Prints what each scan found, for as long as the program runs.
fn print_scans(gateway: &Gateway, out: &mut impl Write) -> anyhow::Result<()> {
    let mut seen = 0;
    loop {
        for scan in gateway.scans().iter().skip(seen) {
            writeln!(out, "scanned {}: {} files", scan.half.name(), scan.files)?;
            seen += 1;
        }
        out.flush()?;
        gateway.wait_for_scans_beyond(seen, LONG);
    }
}
