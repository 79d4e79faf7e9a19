{{/* What all pods share: rights, folders, and where they are scheduled. */}}

{{/*
Settings of a pod. Arguments: root, part, uid, values (of the part); `nodes`, the number of pods
where each needs a node of its own.
*/}}
{{- define "loadpilot.podSpec" -}}
serviceAccountName: {{ include "loadpilot.fullname" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .uid }}
  runAsGroup: {{ .uid }}
  fsGroup: {{ .uid }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    {{- if .nodes }}
    whenUnsatisfiable: DoNotSchedule
    minDomains: {{ .nodes }}
    {{- else }}
    whenUnsatisfiable: ScheduleAnyway
    {{- end }}
    labelSelector:
      matchLabels: {{- include "loadpilot.selector" . | nindent 8 }}
{{- end -}}

{{- define "loadpilot.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Volumes with the keys of a role, and with the login of an external server. */}}
{{- define "loadpilot.keyVolumes" -}}
- name: keys
  secret:
    secretName: {{ include "loadpilot.fullname" .root }}-{{ .role }}-keys
    defaultMode: 0440
{{- with .root.Values.nats.external }}
{{- if .url }}
- name: nats-login
  projected:
    defaultMode: 0440
    sources:
      {{- if .credsSecret }}
      - secret:
          name: {{ .credsSecret }}
          items: [{key: {{ get .credsKeys $.role }}, path: creds}]
      {{- end }}
      {{- if .tokenSecret }}
      - secret:
          name: {{ .tokenSecret }}
          items: [{key: {{ get .tokenKeys $.role }}, path: token}]
      {{- end }}
      {{- if .tlsSecret }}
      - secret:
          name: {{ .tlsSecret }}
          items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]
      {{- end }}
      {{- if .caSecret }}
      - secret:
          name: {{ .caSecret }}
          items: [{key: ca.pem, path: ca.pem}]
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "loadpilot.keyMounts" -}}
- {name: keys, mountPath: /keys, readOnly: true}
{{- if .Values.nats.external.url }}
- {name: nats-login, mountPath: /nats, readOnly: true}
{{- end }}
{{- end -}}

{{/*
A restart where the configuration of a part has changed. No label names the version of the chart: it
would restart NATS with each upgrade.
*/}}
{{- define "loadpilot.podMetadata" -}}
metadata:
  labels: {{- include "loadpilot.selector" . | nindent 4 }}
  {{- $notes := deepCopy .values.podAnnotations }}
  {{- with .config }}{{ $_ := set $notes "loadpilot/config" (sha256sum .) }}{{ end }}
  {{- with $notes }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* At most one pod of a part is taken down at a time when a node is drained. */}}
{{- define "loadpilot.disruptionBudget" -}}
{{- if .root.Values.podDisruptionBudget.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "loadpilot.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "loadpilot.selector" . | nindent 6 }}
{{- end }}
{{- end -}}

{{/* Settings of a volume that lasts: those of `persistence`. */}}
{{- define "loadpilot.claimSpec" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: {storage: {{ .size }}}
{{- end -}}

{{/*
The volume of a part with one pod. As an object of its own it can be added, enlarged and left out by
an upgrade, which volumeClaimTemplates cannot. Arguments: root, part, values.
*/}}
{{- define "loadpilot.claim" -}}
{{- if .values.persistence.enabled }}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "loadpilot.metadata" . | nindent 2 }}
  # The data stay when the fleet is removed.
  annotations: {helm.sh/resource-policy: keep}
spec: {{- include "loadpilot.claimSpec" .values.persistence | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The same as a volume of the pod, or one that begins empty. */}}
{{- define "loadpilot.dataVolume" -}}
- name: data
{{- if .values.persistence.enabled }}
  persistentVolumeClaim: {claimName: {{ include "loadpilot.fullname" .root }}-{{ .part }}}
{{- else }}
  emptyDir: {}
{{- end }}
{{- end -}}
