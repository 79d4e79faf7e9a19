{{/* Files of Prometheus: those of the compose file, with the addresses of this cluster. */}}
{{- define "loadpilot.prometheusConfig" -}}
{{- $full := include "loadpilot.fullname" . -}}
{{- $shipped := .Files.Get "files/prometheus.yml" | fromYaml -}}
{{- $gateway := index $shipped.scrape_configs 0 -}}
{{- $jobs := list -}}
{{- if .Values.gateway.enabled -}}
{{- $job := omit $gateway "static_configs" -}}
{{- $_ := set $job "dns_sd_configs" (list (dict "names" (list (printf "%s-gateway-pods" $full)) "type" "A" "port" 8443 "refresh_interval" "10s")) -}}
{{- if .Values.gateway.tlsSecret -}}
{{- /* A certificate of the user's names the public name of the gateway, not its pods. */ -}}
{{- $_ := set $job "tls_config" (dict "insecure_skip_verify" true) -}}
{{- else -}}
{{- $_ := set $job "tls_config" (merge (dict "server_name" (printf "%s-gateway" $full)) $gateway.tls_config) -}}
{{- end -}}
{{- $jobs = append $jobs $job -}}
{{- end -}}
{{- if .Values.coordinator.enabled -}}
{{- $job := dict "job_name" "loadpilot-coordinator" "scheme" "https" "authorization" (dict "credentials_file" "/keys/coordinator-token") -}}
{{- $_ := set $job "tls_config" (merge (dict "server_name" (printf "%s-coordinator" $full)) $gateway.tls_config) -}}
{{- $_ := set $job "dns_sd_configs" (list (dict "names" (list (printf "%s-coordinator-pods" $full)) "type" "A" "port" 8080 "refresh_interval" "10s")) -}}
{{- $jobs = append $jobs $job -}}
{{- end -}}
prometheus.yml: |
  {{- set $shipped "scrape_configs" $jobs | toYaml | nindent 2 }}
run-alerts.yml: |
  {{- .Files.Get "files/run-alerts.yml" | nindent 2 }}
fleet-alerts.yml: |
  {{- include "loadpilot.fleetAlerts" . | nindent 2 }}
{{- end -}}

{{/* Alerts on a fleet. Where an idle one has no agent, the alert is that runs request some. */}}
{{- define "loadpilot.fleetAlerts" -}}
{{- $rules := .Files.Get "files/fleet-alerts.yml" -}}
{{- $scaling := .Values.agent.autoscaling -}}
{{- if and $scaling.enabled (eq (int $scaling.min) 0) -}}
{{- $none := "max by (job) (loadpilot_coordinator_agents_heard) == 0" -}}
{{- $wanted := "max by (job) (loadpilot_coordinator_agents_wanted) > 0" -}}
{{- $rules = replace $none (printf "%s and %s" $none $wanted) $rules -}}
{{- end -}}
{{- $rules -}}
{{- end -}}
