//! The command `lmc`.

use lm::notation::infix::{self, Format};
use lmc::pipeline::Pipeline;

fn main() {
    lmc::with_large_stack(|| {
        let args: Vec<String> = std::env::args().collect();
        let source = lmc::source::Source::read(&args[1]).ok().unwrap();
        let checked = match lmc::front::load(&source) { Ok(c) => c, Err(e) => { eprint!("{}", lmc::render::render_all(&source, &e, lmc::render::Format::Human, false)); return } };
        let mut p = Pipeline::new(checked).with_trace();
        let f = if args.get(3).is_some() { Format::Signs } else { Format::Plain };
        match p.stages(&lm::term::FunName::base(&args[2])) {
            Ok(stages) => for s in stages {
                println!("-----\n{}\n-----\n{}\n", s.heading, infix::definition(&s.def, f, 100));
            },
            Err(e) => println!("{e}"),
        }
    });
}
