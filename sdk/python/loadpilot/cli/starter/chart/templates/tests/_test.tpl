{{/*
A pod of `helm test`. Arguments: root, name, image, command, and optionally env, volumes and mounts
(as text).
*/}}
{{- define "loadpilot.test" -}}
{{- $at := dict "root" .root "part" "test" "uid" 10006 "values" dict }}
apiVersion: v1
kind: Pod
metadata:
  {{- include "loadpilot.metadata" (merge (dict "suffix" (printf "test-%s" .name)) $at) | nindent 2 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  {{- include "loadpilot.podSpec" $at | nindent 2 }}
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  containers:
    - name: test
      image: {{ .image }}
      imagePullPolicy: IfNotPresent
      command: {{ toJson .command }}
      {{- with .env }}
      env: {{- . | nindent 8 }}
      {{- end }}
      resources:
        requests: {cpu: 50m, memory: 64Mi}
        limits: {memory: 256Mi}
      {{- include "loadpilot.containerSecurity" . | nindent 6 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- with .mounts }}
        {{- . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- with .volumes }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Reads a page over TLS, with the authority of the fleet. */}}
{{- define "loadpilot.readPage" -}}
import ssl, sys, urllib.request; trust = ssl.create_default_context(cafile="/keys/ca.pem"); print(urllib.request.urlopen(sys.argv[1], context=trust, timeout=10).read().decode())
{{- end -}}
