{{/* Flags that every process of the operator has. */}}
{{- define "stoker.processArguments" -}}
- --log-format={{ eq (toString .Values.controller.logDevMode) "true" | ternary "text" "json" }}
- --metrics-bind-address=:8080
- --health-probe-bind-address=:8081
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.watchLabelSelector }}
- {{ printf "--watch-label-selector=%s" . | quote }}
{{- end }}
{{- if .Values.bootstrap.enabled }}
- --bootstrap
{{- if .Values.bootstrap.includeKubeSystem }}
- --bootstrap-kube-system
{{- end }}
{{- end }}
{{- if .Values.defaults }}
- --defaults-file=/etc/stoker/defaults/defaults.json
{{- end }}
{{- end -}}

{{/* Flags of the controller. */}}
{{- define "stoker.controllerArguments" -}}
- --leader-elect={{ .Values.leaderElection.enabled }}
- --max-concurrent-reconciles={{ .Values.maxConcurrentReconciles }}
{{- with .Values.shard }}
- --shard={{ . }}
{{- end }}
- --status-policy={{ include "stoker.fullname" . }}-status
{{- if ne (toString .Values.repair.mode) "report" }}
- --repair={{ .Values.repair.mode | default "off" }}
{{- end }}
{{- if ne (int .Values.repair.perMinute) 6 }}
- --repair-rate={{ .Values.repair.perMinute }}
{{- end }}
{{- if ne .Values.rbac.secretAccess "watch" }}
- --secret-access={{ .Values.rbac.secretAccess }}
{{- end }}
{{- if not .Values.rbac.autoBindAgent.enabled }}
- --auto-bind-agent=false
{{- end }}
{{- if .Values.allowFileRepos }}
- --allow-file-repos
{{- end }}
{{- with .Values.git.denyCidrs }}
- --git-deny-cidrs={{ join "," . }}
{{- end }}
{{- end -}}

{{/* Flags about our webhook configurations and their certificate, for every process. */}}
{{- define "stoker.certificateArguments" -}}
{{- $fullname := include "stoker.fullname" . -}}
{{- if .Values.webhook.enabled -}}
{{- if .Values.certManager.enabled -}}
- --cert-dir=/etc/stoker/certificate
{{- else -}}
- --certificate-secret={{ include "stoker.certificateSecretName" . }}
{{- end }}
- --webhook-service={{ $fullname }}-webhook-service
- --webhook-configuration={{ $fullname }}-pod-injection
- --validating-webhook-configuration={{ $fullname }}-validation
{{- end -}}
{{- end -}}

{{/* Flags of the admission webhook. */}}
{{- define "stoker.webhookArguments" -}}
{{- $webhook := .Values.webhook -}}
{{- if $webhook.enabled -}}
- --webhook-port={{ $webhook.port }}
- --injection-policy={{ $webhook.injectionPolicy }}
{{- with $webhook.allowedAgentImages }}
- --allowed-agent-images={{ join "," . }}
{{- end }}
{{- with .Values.agentImage.pullSecrets }}
- --agent-pull-secret={{ range $index, $secret := . }}{{ if $index }},{{ end }}{{ $secret.name }}{{ end }}
{{- end }}
{{- else -}}
- --webhook-port=0
{{- end -}}
{{- end -}}

{{/* Flags of the receiver. Secrets are files, never values of flags. */}}
{{- define "stoker.receiverArguments" -}}
{{- $receiver := .Values.webhookReceiver -}}
{{- if $receiver.enabled -}}
- --receiver-port={{ $receiver.port }}
- --receiver-rate-limit={{ $receiver.rateLimit }}
{{- with $receiver.trustedProxies }}
- --trusted-proxies={{ join "," . }}
{{- end }}
{{- if $receiver.tls.secretName }}
- --receiver-tls-dir=/etc/stoker/receiver/tls
{{- end }}
{{- if include "stoker.receiverSecretName" (dict "root" . "kind" "hmac") }}
- --receiver-hmac-file=/etc/stoker/receiver/hmac/{{ $receiver.hmac.secretRef.key }}
{{- end }}
{{- if include "stoker.receiverSecretName" (dict "root" . "kind" "token") }}
- --receiver-token-file=/etc/stoker/receiver/token/{{ $receiver.token.secretRef.key }}
{{- end }}
{{- if $receiver.insecure }}
- --receiver-insecure
{{- end }}
{{- else -}}
- --receiver-port=0
{{- end -}}
{{- end -}}
