{{/* Flags of the admission webhook. */}}
{{- define "stoker.webhookArguments" -}}
{{- $fullname := include "stoker.fullname" . -}}
{{- if .Values.webhook.enabled -}}
- --webhook-port={{ .Values.webhook.port }}
- --certificate-secret={{ $fullname }}-webhook-tls
- --webhook-service={{ $fullname }}-webhook-service
- --webhook-configuration={{ $fullname }}-pod-injection
- --validating-webhook-configuration={{ $fullname }}-validation
{{- else -}}
- --webhook-port=0
{{- end -}}
{{- end -}}

{{/* Flags of the receiver. Secrets are files, never values of flags. */}}
{{- define "stoker.receiverArguments" -}}
{{- $receiver := .Values.webhookReceiver -}}
{{- if $receiver.enabled -}}
- --receiver-port={{ $receiver.port }}
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
