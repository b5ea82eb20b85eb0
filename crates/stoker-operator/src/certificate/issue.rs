//! Makes CAs and pairs: ECDSA P-256, valid from the day before, because clocks differ.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use stoker_api::word::Secret;

use super::material::{Authority, Leaf, Material};
use super::plan::{CA_DAYS, LEAF_DAYS};

/// Makes a CA and a pair.
pub(super) fn create(
    names: &[String],
    previous: String,
    now: Timestamp,
) -> Result<Material, rcgen::Error> {
    let authority = authority(now)?;
    let leaf = leaf(&authority, names, now)?;
    Ok(Material { authority, previous, leaf })
}

/// Makes a CA.
fn authority(now: Timestamp) -> Result<Authority, rcgen::Error> {
    let key = KeyPair::generate()?;
    let name = format!("stoker webhook CA {}", now.as_second());
    let certificate = authority_params(&name, now)?.self_signed(&key)?;
    let key = Secret::new(key.serialize_pem());
    Ok(Authority { name, certificate: certificate.pem(), key, made: now })
}

/// Makes a pair for these names.
pub(super) fn leaf(
    authority: &Authority,
    names: &[String],
    now: Timestamp,
) -> Result<Leaf, rcgen::Error> {
    let key = std::str::from_utf8(authority.key.reveal()).unwrap_or_default();
    let issuer_params = authority_params(&authority.name, authority.made)?;
    let issuer = Issuer::new(issuer_params, KeyPair::from_pem(key)?);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "stoker webhook");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid_for(&mut params, now, LEAF_DAYS);
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Leaf {
        certificate: certificate.pem(),
        key: Secret::new(key.serialize_pem()),
        made: now,
        names: names.to_vec(),
    })
}

fn authority_params(name: &str, made: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid_for(&mut params, made, CA_DAYS);
    Ok(params)
}

fn valid_for(params: &mut CertificateParams, from: Timestamp, days: i64) {
    let today = from.to_zoned(TimeZone::UTC).date();
    let day = |date: jiff::civil::Date| {
        let month = u8::try_from(date.month()).unwrap_or(1);
        let day = u8::try_from(date.day()).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), month, day)
    };
    params.not_before = day(today.saturating_sub(1.day()));
    params.not_after = day(today.saturating_add(days.days()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_pair_of_the_same_ca_is_trusted_through_it() {
        let now = "2026-02-28T12:00:00Z".parse::<Timestamp>().unwrap();
        let names = ["webhook.stoker-system.svc".to_owned()];
        let material = create(&names, String::new(), now).unwrap();
        let again = leaf(&material.authority, &names, now).unwrap();
        assert_ne!(again.certificate, material.leaf.certificate);
        for pair in [&material.leaf, &again] {
            let certificate = stoker_runtime::tls::Certificate::default();
            certificate.swap(pair.certificate.as_bytes(), pair.key.reveal()).unwrap();
        }
    }
}
