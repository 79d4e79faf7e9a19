{{/* What agents open beside public addresses, which they always open: a list in JSON. */}}
{{- define "loadpilot.openTargets" -}}
{{- $open := .Values.targets.networks -}}
{{- range .Values.targets.services }}{{ $open = append $open .host }}{{ end -}}
{{- $open | toJson -}}
{{- end -}}

{{/* The same, and public addresses, as rules of a network policy. */}}
{{- define "loadpilot.targetRules" -}}
{{- range .Values.targets.networks }}
- to: [{ipBlock: {cidr: {{ . | quote }}}}]
{{- end }}
{{- if .Values.targets.public }}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
    - ipBlock:
        cidr: ::/0
        except: ["fc00::/7", "fe80::/10"]
{{- end }}
{{- range .Values.targets.services }}
- to:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: {{ .namespace }}}}
      podSelector: {matchLabels: {{ toJson .podLabels }}}
  ports: {{- range .ports }}
    - {port: {{ . }}}
  {{- end }}
{{- end }}
{{- end -}}
