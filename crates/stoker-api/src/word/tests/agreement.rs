//! The schema's CEL rules and the parsers accept the same texts.
//!
//! Where they differ, either a user is refused by the API server for no reason, or a value gets
//! past it that the controller then can't use.

use kube::core::cel::{CompiledSchema, Validator, compile_schema};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::hostile;
use crate::limit;
use crate::rule;
use crate::word::*;

#[test]
fn on_refs() {
    agree(&rule::git_ref(), limit::REF, |text| RefName::parse(text).is_ok());
}

#[test]
fn on_repository_urls() {
    agree(&rule::repo_url(), limit::URL, |text| RepoUrl::parse(text).is_ok());
}

#[test]
fn on_service_urls() {
    agree(&rule::http_url("proxy"), limit::URL, |text| HttpUrl::parse(text).is_ok());
}

#[test]
fn on_intervals() {
    agree(&rule::interval("interval"), limit::INTERVAL, |text| {
        Interval::parse_repeating(text).is_ok()
    });
}

#[test]
fn on_paths() {
    let accepts = |text: &str| RelPath::parse(text).is_ok() && balanced(text);
    agree(&rule::path("source"), limit::PATH, accepts);
}

#[test]
fn on_names_of_variables_and_profiles() {
    keys_agree(&rule::var_keys(), is_identifier);
    keys_agree(&rule::profile_names(), |text| ProfileName::parse(text).is_ok());
}

#[test]
fn on_globs_the_rules_refuse_nothing_that_is_closed() {
    let schema = schema_of(&rule::glob());
    run(|text| {
        if !accepts(&schema, &json!(text)) && !text.is_empty() {
            prop_assert!(glob::check(text).is_err(), "{:?}", text);
        }
        Ok(())
    });
}

/// What CEL can say about templates: as many closings as openings.
fn balanced(text: &str) -> bool {
    text.split("{{").count() == text.split("}}").count()
}

fn agree(rules: &Value, limit: usize, parses: impl Fn(&str) -> bool) {
    let schema = schema_of(rules);
    run(|text| {
        // The schema bounds the length before it asks the rules.
        if !text.is_empty() && text.chars().count() <= limit {
            prop_assert_eq!(accepts(&schema, &json!(text)), parses(text), "{:?}", text);
        }
        Ok(())
    });
}

fn keys_agree(rules: &Value, parses: impl Fn(&str) -> bool) {
    let schema = compile_schema(&json!({
        "type": "object",
        "additionalProperties": { "type": "string" },
        "x-kubernetes-validations": rules,
    }));
    run(|text| {
        let object = json!({ text: "" });
        prop_assert_eq!(accepts(&schema, &object), parses(text), "{:?}", text);
        Ok(())
    });
}

fn schema_of(rules: &Value) -> CompiledSchema {
    compile_schema(&json!({ "type": "string", "x-kubernetes-validations": rules }))
}

fn accepts(schema: &CompiledSchema, value: &Value) -> bool {
    Validator::new().validate_compiled(schema, value, None).is_ok()
}

fn run(claim: impl Fn(&str) -> Result<(), TestCaseError>) {
    let mut runner =
        TestRunner::new(ProptestConfig::with_cases(2 * ProptestConfig::default().cases));
    runner.run(&hostile::text(), |text| claim(&text)).unwrap();
}
