{{/*
All certificates and passwords of a release, as YAML. They are made once: later renderings take them
from the Secret of the release. The key of the authority is not stored, so that certificates are
always made together. Without a cluster (`helm template`) each rendering makes new ones.
*/}}
{{- define "loadpilot.keys" -}}
{{- $full := include "loadpilot.fullname" . -}}
{{- $stored := lookup "v1" "Secret" .Release.Namespace (printf "%s-keys" $full) | default dict -}}
{{- $known := dict -}}
{{- range $name, $value := $stored.data | default dict }}{{ $_ := set $known $name ($value | b64dec) }}{{ end -}}
{{- $names := include "loadpilot.certificateNames" . -}}
{{- if not (hasKey $known "ca.pem") -}}
{{- $authority := genCAWithKey (printf "LoadPilot %s" (randAlphaNum 12)) 825 (genPrivateKey "ecdsa") -}}
{{- $_ := set $known "ca.pem" $authority.Cert -}}
{{- $_ := set $known "names" $names -}}
{{- range $part, $of := $names | fromJson -}}
{{- $pair := genSignedCertWithKey $part $of.addresses $of.names 825 $authority (genPrivateKey "ecdsa") -}}
{{- $_ := set $known (printf "%s.pem" $part) $pair.Cert -}}
{{- $_ := set $known (printf "%s-key.pem" $part) $pair.Key -}}
{{- end -}}
{{- else if ne $known.names $names -}}
{{- fail (printf "the certificates are for other names than nats.service.names and gateway.service.names say: kubectl delete secret -n %s %s-keys, for new keys; then restart all parts" .Release.Namespace $full) -}}
{{- end -}}
{{- range list "coordinator" "agent" "gateway" "submitter" "watcher" "http-token" "gateway-token" "session-secret" "metrics-token" "grafana" -}}
{{- if not (hasKey $known .) }}{{ $_ := set $known . (randAlphaNum 48) }}{{ end -}}
{{- end -}}
{{- with .Values.monitoring.grafana.adminPassword }}{{ $_ := set $known "grafana" . }}{{ end -}}
{{- $known | toYaml -}}
{{- end -}}

{{/* Names and addresses in the certificate of each part, as JSON. */}}
{{- define "loadpilot.certificateNames" -}}
{{- $root := . -}}
{{- $all := dict -}}
{{- $more := dict "nats" .Values.nats.service.names "gateway" .Values.gateway.service.names "coordinator" list -}}
{{- range $part, $extra := $more -}}
{{- $name := printf "%s-%s" (include "loadpilot.fullname" $root) $part -}}
{{- $names := include "loadpilot.serviceNames" (dict "root" $root "name" $name) | fromJsonArray -}}
{{- if eq $part "nats" }}{{ $names = concat $names (include "loadpilot.natsNodes" $root | fromJsonArray) }}{{ end -}}
{{- $names = append $names "localhost" -}}
{{- $addresses := list "127.0.0.1" -}}
{{- range $extra -}}
{{- if regexMatch "^[0-9.]+$|:" . }}{{ $addresses = append $addresses . }}{{ else }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- $_ := set $all $part (dict "names" $names "addresses" $addresses) -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* What every part says to the server, as JSON; the names are those of a connection file. */}}
{{- define "loadpilot.natsLogin" -}}
{{- $login := dict -}}
{{- $external := .Values.nats.external -}}
{{- if $external.url -}}
{{- if $external.credsSecret }}{{ $_ := set $login "creds" "/nats/creds" }}{{ end -}}
{{- if $external.tokenSecret }}{{ $_ := set $login "token_file" "/nats/token" }}{{ end -}}
{{- if $external.tlsSecret -}}
{{- $_ := set $login "cert" "/nats/tls.crt" -}}
{{- $_ := set $login "key" "/nats/tls.key" -}}
{{- end -}}
{{- if $external.caSecret }}{{ $_ := set $login "cacert" "/nats/ca.pem" }}{{ end -}}
{{- with $external.domain }}{{ $_ := set $login "domain" . }}{{ end -}}
{{- with $external.apiPrefix }}{{ $_ := set $login "api_prefix" . }}{{ end -}}
{{- else -}}
{{- $_ := set $login "token_file" "/keys/nats-token" -}}
{{- $_ := set $login "cacert" "/keys/ca.pem" -}}
{{- end -}}
{{- $login | toJson -}}
{{- end -}}

{{/* The same as variables of a command, or of the gateway. Arguments: root, prefix. */}}
{{- define "loadpilot.natsVariables" -}}
{{- range $name, $value := include "loadpilot.natsLogin" .root | fromJson }}
- {name: {{ $.prefix }}NATS_{{ upper $name }}, value: {{ $value | quote }}}
{{- end }}
{{- with .root.Values.nats.external.connections }}
- {name: {{ $.prefix }}NATS_CONNECTIONS, value: {{ . | quote }}}
{{- end }}
{{- end -}}

{{/* The connection file of a role. Arguments: root, role, password. */}}
{{- define "loadpilot.connect" -}}
{{- $connect := include "loadpilot.natsLogin" .root | fromJson -}}
{{- $_ := set $connect "url" (include "loadpilot.natsUrl" .root) -}}
{{- if .root.Values.nats.external.url -}}
{{- $_ := set $connect "replicas" (int .root.Values.nats.external.copies) -}}
{{- else -}}
{{- $connect = omit $connect "token_file" -}}
{{- $_ := set $connect "token" (printf "%s:%s" .role .password) -}}
{{- $_ := set $connect "replicas" (int .root.Values.nats.replicas) -}}
{{- end -}}
{{- $connect | toJson -}}
{{- end -}}


{{/* Refuses an upgrade that would delete the Secrets that this release made: Helm keeps those alone
that say so. */}}
{{- define "loadpilot.checkKept" -}}
{{- $lost := list -}}
{{- range list "" "nats-" "coordinator-" "agent-" "gateway-" "submitter-" "watcher-" "prometheus-" "grafana-" -}}
{{- $name := printf "%s-%skeys" (include "loadpilot.fullname" $) . -}}
{{- $stored := lookup "v1" "Secret" $.Release.Namespace $name | default dict -}}
{{- $notes := dig "metadata" "annotations" dict $stored -}}
{{- if and (eq (get $notes "meta.helm.sh/release-name") $.Release.Name) (ne (get $notes "helm.sh/resource-policy") "keep") -}}
{{- $lost = append $lost $name -}}
{{- end -}}
{{- end -}}
{{- with $lost -}}
{{- fail (printf "keys.create is false, and the upgrade would delete the Secrets that this release made; first: kubectl annotate secret -n %s %s helm.sh/resource-policy=keep" $.Release.Namespace (join " " .)) -}}
{{- end -}}
{{- end -}}
