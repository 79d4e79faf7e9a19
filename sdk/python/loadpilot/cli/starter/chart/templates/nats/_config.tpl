{{/* Files of nats-server. nats.conf and roles.conf are those of the compose file. */}}
{{- define "loadpilot.natsConfig" -}}
{{- $full := include "loadpilot.fullname" . -}}
nats.conf: |
  {{- .Files.Get "files/nats.conf" | nindent 2 }}
roles.conf: |
  {{- .Files.Get "files/roles.conf" | nindent 2 }}
server.conf: |
  include "nats.conf"
  server_name: $NODE
  {{- if gt (int .Values.nats.replicas) 1 }}
  cluster {
      name: {{ $full }}
      listen: "0.0.0.0:6222"
      # Clients know the names of all nodes, to which the certificate belongs, not their addresses.
      no_advertise: true
      routes: [
        {{- range include "loadpilot.natsNodes" . | fromJsonArray }}
        "nats-route://{{ . }}:6222"
        {{- end }}
      ]
      # A node shows a certificate for clients, which only parts of the fleet have.
      tls {
          cert_file: "/keys/nats.pem"
          key_file: "/keys/nats-key.pem"
          ca_file: "/keys/ca.pem"
          timeout: 5
      }
  }
  {{- end }}
  {{- with .Values.nats.extraConfig }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}
