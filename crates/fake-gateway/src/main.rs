//! `fake-gateway`: the stand-in as a program, for shell tests and for trying things by hand.

mod args;

use std::io::{Read as _, Write as _};

use anyhow::Context as _;
use clap::Parser as _;
use fake_gateway::Gateway;

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
    loop {
        std::thread::park();
    }
}
