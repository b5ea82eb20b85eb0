//! Annotations and labels.

use crate::registry::registry;

registry! {
    /// An annotation on a pod, a namespace or a GatewaySync.
    pub enum Annotation {
        /// On a pod: `"true"` asks for the agent to be injected.
        Inject = "stoker.io/inject",
        /// On a pod: the GatewaySync that serves it. Derived, and set by the webhook, where the
        /// namespace has exactly one.
        CrName = "stoker.io/cr-name",
        /// On a pod, set by the webhook: `"true"` where it derived `cr-name`.
        CrNameDerived = "stoker.io/cr-name-derived",
        /// On a pod, set by the webhook: `"true"`, the image that `agent-image` asks for is not
        /// allowed, and the agent has the usual one.
        AgentImageRefused = "stoker.io/agent-image-refused",
        /// On a pod: the embedded profile, from `spec.sync.profiles`. Without it, and without
        /// `sync-profile`, the profile named `default`.
        Profile = "stoker.io/profile",
        /// On a pod: the SyncProfile object to use instead of an embedded profile.
        SyncProfile = "stoker.io/sync-profile",
        /// On a pod: the directory of the repository that holds this gateway, laid out by
        /// convention.
        ServicePath = "stoker.io/service-path",
        /// On a pod: the name of the gateway. Without it the label `app.kubernetes.io/name`, then
        /// the name of the pod.
        GatewayName = "stoker.io/gateway-name",
        /// On a pod: a ref for this gateway alone, resolved like `spec.git.ref`.
        RefOverride = "stoker.io/ref-override",
        /// On a pod: another tag or digest of the agent's image, from an allowed repository.
        AgentImage = "stoker.io/agent-image",
        /// On a pod: further exclude patterns, separated by commas.
        ExcludePatterns = "stoker.io/exclude-patterns",
        /// On a pod: `syncPeriod` for this gateway, in seconds.
        SyncPeriod = "stoker.io/sync-period",
        /// On a pod: `first` puts the agent before every other init container.
        InitOrder = "stoker.io/init-order",
        /// On a pod: the volume with the gateway's data, where it can't be told.
        DataVolume = "stoker.io/data-volume",
        /// On a pod: overrides `spec.gateway.port`.
        GatewayPort = "stoker.io/gateway-port",
        /// On a pod: overrides `spec.gateway.tls`.
        GatewayTls = "stoker.io/gateway-tls",
        /// On a pod: `"true"` pauses this gateway.
        Paused = "stoker.io/paused",
        /// On a pod, set by the webhook: the agent was injected.
        Injected = "stoker.io/injected",
        /// On a pod, set by the webhook: a hash of what was injected (Secret names, image, mounts).
        InjectedHash = "stoker.io/injected-hash",
        /// On a GatewaySync: a ref that was asked for by a push, a promotion or the CLI.
        RequestedRef = "stoker.io/requested-ref",
        /// On a GatewaySync: when it was asked for (RFC 3339).
        RequestedAt = "stoker.io/requested-at",
        /// On a GatewaySync: who asked: `github`, `gitlab`, `gitea`, `bitbucket`, `azuredevops`,
        /// `argocd`, `kargo`, `flux`, `generic` or `cli`.
        RequestedBy = "stoker.io/requested-by",
        /// On a GatewaySync: `spec.git.ref` at that moment. A request for another ref is void.
        RequestedFor = "stoker.io/requested-for",
        /// On a GatewaySync: when the remote was last to be asked again for the effective ref
        /// (RFC 3339). The controller asks at once.
        RecheckAt = "stoker.io/recheck-at",
        /// On a GatewaySync: who asked for that; values as `requested-by`.
        RecheckBy = "stoker.io/recheck-by",
        /// On a GatewaySync: `"true"` drops the pinned host key of the git server, once; the
        /// controller clears it.
        ForgetHostKey = "stoker.io/forget-host-key",
        /// On a GatewaySync: confirms, once, the mass deletion that the named commit causes.
        AllowMassDelete = "stoker.io/allow-mass-delete",
        /// On the Secret with a GitHub App's token, set by the controller: when the token ends.
        TokenExpiresAt = "stoker.io/token-expires-at",
        /// On the Secret with a GitHub App's token, set by the controller: for which credentials it
        /// is.
        TokenFor = "stoker.io/token-for",
        /// On the metadata ConfigMap, set by the controller: changes when it has made a status
        /// ConfigMap again, so that agents write their reports again.
        ReportsWanted = "stoker.io/reports-wanted",
        /// On a pod or a namespace: `disabled` or `enabled`, whether pods are bootstrapped.
        Bootstrap = "stoker.io/bootstrap",
        /// On a pod or a namespace: whether image registries are rewritten.
        BootstrapRegistry = "stoker.io/bootstrap-registry",
        /// On a pod or a namespace: whether the pull secret is added.
        BootstrapPullSecret = "stoker.io/bootstrap-pull-secret",
        /// On a pod or a namespace: whether the bundle of certificates is mounted.
        BootstrapCaBundle = "stoker.io/bootstrap-ca-bundle",
        /// On a pod or a namespace: whether environment variables are added.
        BootstrapEnv = "stoker.io/bootstrap-env",
        /// On a pod, set by bootstrap: a short hash of the policy, once everything that it asks for
        /// was done.
        Bootstrapped = "stoker.io/bootstrapped",
        /// On a pod, set by bootstrap: the images before they were rewritten.
        OriginalImages = "stoker.io/original-images",
        /// On a copy of the pull secret or of the certificates, set by bootstrap: its source and a
        /// hash of it.
        ReplicaOf = "stoker.io/replica-of",
    }
}

registry! {
    /// A label on a namespace, a pod or an object that Stoker owns.
    pub enum Label {
        /// On a namespace: `enabled` lets the webhook inject agents there.
        Injection = "stoker.io/injection",
        /// On a namespace: `strict` or `lenient`, whether a pod with a wrong configuration is
        /// denied.
        InjectionPolicy = "stoker.io/injection-policy",
        /// On a pod, set by the webhook: `"true"`, the pod has an agent.
        Agent = "stoker.io/agent",
        /// On a GatewaySync: it is there for `helm test` only, and is taken for no pod that does not
        /// name it.
        Check = "stoker.io/check",
        /// On an owned object: the GatewaySync that it belongs to.
        CrName = "stoker.io/cr-name",
        /// On a copy of the pull secret or of the certificates: `bootstrap`.
        Replica = "stoker.io/replica",
        /// On an owned object: `stoker`.
        ManagedBy = "app.kubernetes.io/managed-by",
        /// On a pod: names the gateway where no annotation does.
        AppName = "app.kubernetes.io/name",
    }
}
