{{/* Names, labels and images. */}}

{{- define "loadpilot.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the pods of a part. Arguments: the root context and the name of the part. */}}
{{- define "loadpilot.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "loadpilot.labels" -}}
{{ include "loadpilot.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Head of an object of a part: name and labels. `suffix` is what follows the name. */}}
{{- define "loadpilot.metadata" -}}
name: {{ include "loadpilot.fullname" .root }}-{{ .suffix | default .part }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "loadpilot.labels" . | nindent 2 }}
{{- end -}}

{{/* An image of this project: its tag is the version of the chart unless one is given. */}}
{{- define "loadpilot.image" -}}
{{- $name := .image -}}
{{- if .root.Values.image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .root.Values.image.registry) $name }}{{ end -}}
{{- printf "%s:%s" $name (.tag | default .root.Chart.AppVersion) -}}
{{- end -}}

{{/* All names of a service, as a list in JSON: for certificates. */}}
{{- define "loadpilot.serviceNames" -}}
{{- $space := .root.Release.Namespace -}}
{{- list .name (printf "%s.%s" .name $space) (printf "%s.%s.svc" .name $space)
  (printf "%s.%s.svc.%s" .name $space .root.Values.clusterDomain) | toJson -}}
{{- end -}}

{{- define "loadpilot.hasOwnNats" -}}
{{- if not .Values.nats.external.url }}true{{ end -}}
{{- end -}}

{{/* Names of the nodes of the log: a single one is known by its service. */}}
{{- define "loadpilot.natsNodes" -}}
{{- $full := include "loadpilot.fullname" . -}}
{{- $nodes := list -}}
{{- range $at := until 3 -}}
{{- $nodes = append $nodes (printf "%s-nats-%d.%s-nats-nodes" $full $at $full) -}}
{{- end -}}
{{- $nodes | toJson -}}
{{- end -}}

{{- define "loadpilot.natsUrl" -}}
{{- if .Values.nats.external.url -}}
{{- .Values.nats.external.url -}}
{{- else if gt (int .Values.nats.replicas) 1 -}}
{{- $urls := list -}}
{{- range include "loadpilot.natsNodes" . | fromJsonArray }}{{ $urls = append $urls (printf "tls://%s:4222" .) }}{{ end -}}
{{- join "," $urls -}}
{{- else -}}
tls://{{ include "loadpilot.fullname" . }}-nats:4222
{{- end -}}
{{- end -}}

{{/* An address of a server outside; its port is the first group. */}}
{{- define "loadpilot.natsAddress" -}}
^tls://(?:[^/]*@)?(?:\[[^]]*\]|[^]/:@[\s]+)(?::([0-9]+))?(?:/.*)?$
{{- end -}}

{{/* Ports of all servers outside, as a list in JSON. */}}
{{- define "loadpilot.natsPorts" -}}
{{- $ports := list -}}
{{- range splitList "," .Values.nats.external.url -}}
{{- $port := regexReplaceAll (include "loadpilot.natsAddress" $) (trim .) "${1}" | default "4222" -}}
{{- $ports = append $ports (int $port) -}}
{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end -}}

{{/* Refuses values that contradict each other. */}}
{{- define "loadpilot.check" -}}
{{- $values := .Values -}}
{{- with $values.coordinator.serveAgents -}}
{{- if ne (int .) (int $values.agent.replicas) -}}
{{- fail (printf "coordinator.serveAgents is %v, and agent.replicas decides (%v): set agent.replicas" . $values.agent.replicas) -}}
{{- end -}}
{{- end -}}
{{- if not $values.keys.create }}{{ include "loadpilot.checkKept" . }}{{ end -}}
{{- $external := $values.nats.external -}}
{{- if and $external.url (not (or $external.credsSecret $external.tokenSecret $external.tlsSecret)) -}}
{{- fail "nats.external.credsSecret must name a Secret: a server outside needs a login; or tokenSecret, or tlsSecret" -}}
{{- end -}}
{{- if and $external.credsSecret $external.tokenSecret -}}
{{- fail "nats.external.tokenSecret must be empty beside nats.external.credsSecret: a part has one login" -}}
{{- end -}}
{{- if and $external.domain $external.apiPrefix -}}
{{- fail "nats.external.apiPrefix must be empty beside nats.external.domain: one stands for the other" -}}
{{- end -}}
{{- if and $external.url $external.connections -}}
{{- /* A rollout starts one pod more of each part before it ends another (maxSurge). */ -}}
{{- $agents := ternary $values.agent.autoscaling.max $values.agent.replicas $values.agent.autoscaling.enabled -}}
{{- $needed := add 1 $agents -}}
{{- if $values.coordinator.enabled }}{{ $needed = add $needed (mul 2 (add 1 $values.coordinator.replicas)) }}{{ end -}}
{{- if $values.gateway.enabled }}{{ $needed = add $needed 1 $values.gateway.replicas }}{{ end -}}
{{- if gt (int $needed) (int $external.connections) -}}
{{- $count := ternary "agent.autoscaling.max" "agent.replicas" $values.agent.autoscaling.enabled -}}
{{- fail (printf "nats.external.connections is %d, and the parts need %d: one for each of %s, two for each of coordinator.replicas, one for each of gateway.replicas, and as many for one pod more of each part in a rollout" (int $external.connections) (int $needed) $count) -}}
{{- end -}}
{{- end -}}
{{- if and (not $external.url) (or $external.credsSecret $external.tokenSecret $external.tlsSecret $external.caSecret $external.domain $external.apiPrefix $external.connections $external.logStorage) -}}
{{- fail "nats.external.url must be set beside other settings of nats.external, such as credsSecret and caSecret" -}}
{{- end -}}
{{- range splitList "," $external.url -}}
{{- if and $external.url (not (regexMatch (include "loadpilot.natsAddress" $) (trim .))) -}}
{{- fail (printf "nats.external.url must be tls://host:port, several with commas between, or the login travels unencrypted (got %s)" (regexReplaceAll "//[^/]*@" . "//")) -}}
{{- end -}}
{{- end -}}
{{- $scaling := $values.agent.autoscaling -}}
{{- if and $scaling.enabled (not $values.monitoring.enabled) (not $scaling.prometheusUrl) -}}
{{- fail "agent.autoscaling.prometheusUrl must be set where monitoring.enabled is false" -}}
{{- end -}}
{{- if and $scaling.enabled (gt (int $scaling.min) (int $scaling.max)) -}}
{{- fail (printf "agent.autoscaling.min must be at most max (got %v and %v)" $scaling.min $scaling.max) -}}
{{- end -}}
{{- if and $values.gateway.ingress.enabled (not $values.gateway.ingress.host) -}}
{{- fail "gateway.ingress.host must be the name by which browsers know the gateway" -}}
{{- end -}}
{{- end -}}
