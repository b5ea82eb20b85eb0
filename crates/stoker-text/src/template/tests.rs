use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What a template sees outside a cluster.
fn standalone() -> Context {
    Context {
        gateway_name: Some("gw".to_owned()),
        git_ref: Some("main".to_owned()),
        vars: BTreeMap::from([("region".to_owned(), "us".to_owned())]),
        ..Context::default()
    }
}

fn render(text: &str) -> Result<String, TemplateError> {
    Template::parse(text)?.render(&standalone(), Limits::default())
}

fn error(text: &str) -> String {
    render(text).unwrap_err().to_string()
}

#[test]
fn a_pod_field_outside_a_cluster_is_an_error_that_says_so() {
    for field in ["PodName", "PodOrdinal", "Namespace", "CRName", "Labels"] {
        let expected = format!("line 1, column 4: `.{field}` is not known outside a cluster");
        assert_eq!(error(&format!("{{{{ .{field} }}}}")), expected);
    }
    assert_eq!(
        error("{{if .PodName}}{{end}}"),
        "line 1, column 6: `.PodName` is not known outside a cluster"
    );
    assert_eq!(error("{{.Commit}}"), "line 1, column 3: `.Commit` is not known here");
}

#[test]
fn a_pod_without_an_ordinal_is_told_apart() {
    let context = Context { pod_name: Some("gw-abc".to_owned()), ..standalone() };
    let template = Template::parse("{{.PodOrdinal}}").unwrap();
    assert_eq!(
        template.render(&context, Limits::default()).unwrap_err().message,
        "`.PodOrdinal` is not known: the name of this pod does not end in a number"
    );
}

#[test]
fn faults_carry_line_and_column() {
    let cases = [
        ("a\nbé {{ .Nope }}", (2, 7)),
        ("{{if .Ref}}\n{{if .Ref}}\n{{end}}", (1, 1)),
        ("x\n{{end}}", (2, 3)),
        ("x\n  {{ .Ref", (2, 3)),
        ("{{ .Vars.region }}\n{{ .Vars.other }}", (2, 4)),
        ("{{/* a", (1, 1)),
        ("{{range 3}}\n{{upper .}}{{end}}", (2, 3)),
        ("{{eq 1 \"1\"}}", (1, 3)),
        ("{{print (1}}", (1, 9)),
    ];
    for (text, place) in cases {
        let error = render(text).unwrap_err();
        assert_eq!((error.line, error.column), place, "{text:?}: {error}");
    }
}

#[test]
fn a_missing_variable_is_an_error_and_an_optional_one_is_asked_for_by_index() {
    assert_eq!(error("{{.Vars.site}}"), "line 1, column 3: there is no key \"site\"");
    let optional = "{{with index .Vars \"site\"}}{{.}}{{else}}none{{end}}";
    assert_eq!(render(optional).unwrap(), "none");
}

#[test]
fn there_is_no_way_out_of_the_template() {
    for name in ["env", "file", "readFile", "include", "exec", "getHostByName", "tpl"] {
        let expected = format!("line 1, column 3: there is no function {name:?}");
        assert_eq!(error(&format!("{{{{{name} \"x\"}}}}")), expected);
    }
    assert_eq!(error("{{call .Ref}}"), "line 1, column 3: there is nothing that can be called");
}

#[test]
fn formats_without_a_use_are_refused() {
    let refused = [
        r#"{{printf "%x" 1.5}}"#,
        r#"{{printf "%#g" 1.5}}"#,
        r#"{{printf "%p" .Vars}}"#,
        r#"{{printf "%[3]d" 1}}"#,
        r#"{{printf "%[1]5d" 1}}"#,
        r#"{{printf "%[1" 1}}"#,
        r#"{{printf "%1000001d" 1}}"#,
    ];
    for text in refused {
        assert!(render(text).is_err(), "{text}");
    }
}

#[test]
fn faults_say_what_is_wrong_and_where() {
    for (text, told) in [
        ("a\n{{range 3}}x", "line 2, column 1: this {{range}} has no {{end}}"),
        ("{{define \"a\"}}x", "line 1, column 1: this {{define}} has no {{end}}"),
        ("{{slice \"é\" 0 1}}", "line 1, column 3: the bounds 0 and 1 cut a character in two"),
    ] {
        assert_eq!(error(text), told);
    }
}

#[test]
fn variables_tokens_and_recursion_are_bounded() {
    let recursive =
        "{{define \"a\"}}{{if true}}{{template \"a\" .}}{{end}}{{end}}{{template \"a\" .}}";
    for (text, told) in [
        (&*"{{$x := 1}}".repeat(2_000), "more than 1000 variables"),
        (&"{{.Ref}}".repeat(100_000), "tokens"),
        (recursive, "nested too deep"),
    ] {
        assert!(error(text).contains(told), "{told}");
    }
}

#[test]
fn an_undeclared_variable_is_found_before_rendering() {
    let error = Template::parse("{{if false}}{{$x = 1}}{{end}}").unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 15: the variable $x is not declared");
}

#[test]
fn a_byte_of_a_text_is_a_number() {
    assert_eq!(render("{{index .Ref 0}} {{eq (index .Ref 0) 'm'}}").unwrap(), "109 true");
}

#[test]
fn endless_templates_are_stopped() {
    let endless = [
        "{{range 1000000000}}{{end}}",
        "{{range 1000000000}}x{{end}}",
        "{{range 1000000}}{{range 1000000}}{{end}}{{end}}",
        "{{$x := \"aaaaaaaaaaaaaaaa\"}}{{range 100}}{{$x = print $x $x}}{{end}}",
        "{{$x := \"aaaaaaaa\"}}{{range 20}}{{$x = print $x $x}}{{end}}{{range 1000000}}{{$y := html $x}}{{end}}",
        "{{range 1000000}}{{$x := printf \"%999999d\" 1}}{{end}}",
        "{{range 1000}}{{printf \"%999999d\" 1}}{{end}}",
        "{{printf \"%99999999999999999999d\" 1}}",
    ];
    for text in endless {
        let message = render(text).unwrap_err().message;
        let told = ["stopped after", "larger than"].iter().any(|part| message.contains(part));
        assert!(told, "{text}: {message}");
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused_and_up_to_it_works() {
    let nested = |depth: usize| "{{if true}}".repeat(depth) + "x" + &"{{end}}".repeat(depth);
    assert_eq!(render(&nested(99)).unwrap(), "x");
    assert!(error(&nested(1_000)).contains("within each other"));
    let parens = |depth: usize| format!("{{{{{}1{}}}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(render(&parens(99)).unwrap(), "1");
    assert!(error(&parens(1_000)).contains("within each other"));
    let chain = "{{if false}}".to_owned() + &"{{else if false}}".repeat(1_000) + "{{end}}";
    assert!(error(&chain).contains("within each other"));
}

#[test]
fn the_output_may_be_as_large_as_the_limit_and_no_larger() {
    let template = Template::parse("{{range 10}}0123456789{{end}}").unwrap();
    let limits = |output_bytes| Limits { output_bytes, ..Limits::default() };
    assert_eq!(template.render(&standalone(), limits(100)).unwrap().len(), 100);
    assert!(template.render(&standalone(), limits(99)).is_err());
}

#[test]
fn plain_text_is_known_as_such() {
    assert!(Template::parse("a { b }} c").unwrap().is_plain());
    assert!(!Template::parse("a {{.Ref}}").unwrap().is_plain());
    // A comment leaves no trace, but the text is not the template.
    assert_eq!(render("a{{/* c */}}b").unwrap(), "ab");
}

/// Text made of the pieces that templates are made of.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{",
        "}}",
        "{{- ",
        " -}}",
        "if ",
        "else",
        "end",
        "range ",
        "with ",
        "define \"a\"",
        "template \"a\" .",
        "block \"b\" .",
        "break",
        ".",
        ".Vars",
        ".Vars.region",
        "$",
        "$x := ",
        "$x",
        "| ",
        "printf \"%v%5d\" ",
        "index ",
        "slice ",
        "len ",
        "eq ",
        "and ",
        "(",
        ")",
        "1 ",
        "3.5 ",
        "\"s\" ",
        "`r`",
        "'c'",
        "é",
        "\n",
        " ",
        "/* c */",
        ",",
        "=",
        "nil ",
        "html ",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Actions that are more often well-formed.
fn actions() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{.Ref}}",
        "text ",
        "{{range 3}}",
        "{{if .Vars}}",
        "{{with .Ref}}",
        "{{else}}",
        "{{end}}",
        "{{end}}",
        "{{$x := 1}}",
        "{{print . 2}}",
        "{{printf \"%8v|\" .Ref}}",
        "{{range .Vars}}",
        "{{define \"a\"}}",
        "{{template \"a\" .Ref}}",
        "{{break}}",
        "{{slice .Ref 1}}",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_a_fault(text in prop_oneof![".{0,60}", soup()]) {
        let limits = Limits { output_bytes: 10_000, steps: 10_000 };
        if let Ok(template) = Template::parse(&text) {
            let first = template.render(&standalone(), limits);
            prop_assert_eq!(&first, &template.render(&standalone(), limits));
        }
    }

    #[test]
    fn the_output_never_exceeds_its_limit(text in actions(), output_bytes in 0_usize..60) {
        let limits = Limits { output_bytes, steps: 10_000 };
        if let Ok(Ok(output)) = Template::parse(&text).map(|t| t.render(&standalone(), limits)) {
            prop_assert!(output.len() <= output_bytes);
        }
    }

    #[test]
    fn text_without_actions_is_itself(text in "[^{]{0,60}") {
        prop_assert_eq!(render(&text).unwrap(), text);
    }

    #[test]
    fn a_quoted_text_is_read_back(text in "[ -~éß\t\n]{0,30}") {
        let literal = escape::quoted(&text, '"', false);
        prop_assert_eq!(render(&format!("{{{{{literal}}}}}")).unwrap(), text);
    }
}
