{{/*
The pod of a process of the operator. Takes a dict: root, mode (all, controller or webhook), account, component
(the label control-plane) and resources.
*/}}
{{- define "stoker.pod" -}}
{{- $root := .root -}}
{{- $serves := ne .mode "controller" -}}
{{- $webhook := and $serves $root.Values.webhook.enabled -}}
{{- $receiver := and $serves $root.Values.webhookReceiver.enabled -}}
metadata:
  annotations:
    kubectl.kubernetes.io/default-container: manager
    {{- with $root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- with $root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- include "stoker.commonSelectorLabels" $root | nindent 4 }}
    control-plane: {{ .component }}
spec:
  serviceAccountName: {{ .account }}
  # The webhook answers for some seconds more, until no Service names this pod.
  terminationGracePeriodSeconds: 15
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: manager
      image: {{ include "stoker.image" (dict "image" $root.Values.image "Chart" $root.Chart) }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        - --mode={{ .mode }}
        {{- include "stoker.processArguments" $root | nindent 8 }}
        {{- if ne .mode "webhook" }}
        {{- include "stoker.controllerArguments" $root | nindent 8 }}
        {{- end }}
        {{- with include "stoker.certificateArguments" $root }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- if $serves }}
        {{- include "stoker.webhookArguments" $root | nindent 8 }}
        {{- end }}
        {{- include "stoker.receiverArguments" $root | nindent 8 }}
        {{- with $root.Values.controller.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        {{- if ne .mode "webhook" }}
        # Where a GatewaySync has a GitHub App, the controller binds its account to the role that writes tokens.
        - name: STOKER_SERVICE_ACCOUNT
          valueFrom:
            fieldRef:
              fieldPath: spec.serviceAccountName
        - name: STOKER_TOKEN_WRITER_ROLE
          value: {{ include "stoker.fullname" $root }}-token-writer
        {{- end }}
        - name: DEFAULT_AGENT_IMAGE
          value: {{ include "stoker.image" (dict "image" $root.Values.agentImage "Chart" $root.Chart) }}
      ports:
        - name: metrics
          containerPort: 8080
        - name: health
          containerPort: 8081
        {{- if $webhook }}
        - name: webhook
          containerPort: {{ $root.Values.webhook.port }}
        {{- end }}
        {{- if $receiver }}
        - name: receiver
          containerPort: {{ $root.Values.webhookReceiver.port }}
        {{- end }}
      startupProbe:
        httpGet:
          path: /healthz
          port: health
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet:
          path: /healthz
          port: health
        periodSeconds: 20
        failureThreshold: 3
      readinessProbe:
        httpGet:
          path: /readyz
          port: health
        periodSeconds: 5
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        {{- include "stoker.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if $root.Values.defaults }}
        - name: defaults
          mountPath: /etc/stoker/defaults
          readOnly: true
        {{- end }}
        {{- if and $webhook $root.Values.certManager.enabled }}
        - name: certificate
          mountPath: /etc/stoker/certificate
          readOnly: true
        {{- end }}
        {{- if $root.Values.webhookReceiver.enabled }}
        {{- if and $receiver $root.Values.webhookReceiver.tls.secretName }}
        - name: receiver-tls
          mountPath: /etc/stoker/receiver/tls
          readOnly: true
        {{- end }}
        {{- /* The controller reports whether they are empty. */}}
        {{- range $kind := list "hmac" "token" }}
        {{- with include "stoker.receiverSecretName" (dict "root" $root "kind" $kind) }}
        - name: receiver-{{ $kind }}
          mountPath: /etc/stoker/receiver/{{ $kind }}
          readOnly: true
        {{- end }}
        {{- end }}
        {{- end }}
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    # Git's object store and temporary files. No size limit: the kubelet evicts a pod that passes one.
    - name: tmp
      emptyDir: {}
    {{- if $root.Values.defaults }}
    - name: defaults
      configMap:
        name: {{ include "stoker.fullname" $root }}-defaults
        optional: true
    {{- end }}
    {{- if and $webhook $root.Values.certManager.enabled }}
    # Optional: the pod starts, and is Ready when cert-manager has filled it.
    - name: certificate
      secret:
        secretName: {{ include "stoker.certificateSecretName" $root }}
        defaultMode: 0400
        optional: true
    {{- end }}
    {{- if $root.Values.webhookReceiver.enabled }}
    {{- if and $receiver $root.Values.webhookReceiver.tls.secretName }}
    - name: receiver-tls
      secret:
        secretName: {{ $root.Values.webhookReceiver.tls.secretName }}
        defaultMode: 0400
        optional: true
    {{- end }}
    {{- range $kind := list "hmac" "token" }}
    {{- with include "stoker.receiverSecretName" (dict "root" $root "kind" $kind) }}
    - name: receiver-{{ $kind }}
      secret:
        secretName: {{ . }}
        defaultMode: 0400
        optional: true
    {{- end }}
    {{- end }}
    {{- end }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "stoker.scheduling" $root | nindent 2 }}
  {{- with $root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if $root.Values.topologySpreadConstraints }}
    {{- toYaml $root.Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "stoker.commonSelectorLabels" $root | nindent 10 }}
          control-plane: {{ .component }}
    {{- end }}
{{- end -}}

{{/* Where pods may run; the same for the operator and the hooks. */}}
{{- define "stoker.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "stoker.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The pod of a hook. Takes a dict: root, account, container and arguments (a list). */}}
{{- define "stoker.hookPodSpec" -}}
{{- $root := .root -}}
serviceAccountName: {{ .account }}
restartPolicy: Never
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: {{ .container }}
    image: {{ include "stoker.image" (dict "image" $root.Values.image "Chart" $root.Chart) }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args:
      {{- toYaml .arguments | nindent 6 }}
    resources:
      {{- toYaml $root.Values.resources | nindent 6 }}
    securityContext:
      {{- include "stoker.containerSecurity" $root | nindent 6 }}
{{- include "stoker.scheduling" $root }}
{{- end -}}
