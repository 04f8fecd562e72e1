{{- define "capacity.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Selector of a component's pods. Argument: a list of the root and the component. */}}
{{- define "capacity.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "capacity.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}

{{/* Fully qualified name of a worker's pod, because nginx's resolver has no search domains. Argument: a list of the root and the index. */}}
{{- define "capacity.workerHost" -}}
{{- $root := index . 0 -}}
{{ $root.Release.Name }}-worker-{{ index . 1 }}.{{ $root.Release.Name }}-workers.{{ $root.Release.Namespace }}.svc.{{ $root.Values.clusterDomain }}
{{- end }}

{{/* A single URL for the control ports of all workers: a run uses all addresses that its name resolves to. */}}
{{- define "capacity.control" -}}
http://{{ .Release.Name }}-workers.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:3200
{{- end }}

{{- define "capacity.tokenSecret" -}}
{{ .Values.existingSecret | default (printf "%s-token" .Release.Name) }}
{{- end }}

{{/* Both sides of each proxied connection, a quarter in reserve, and 256 for nginx itself, as in server/stack/plan.ts. */}}
{{- define "capacity.nginxConnections" -}}
{{- add 256 (ceil (divf (mulf .Values.nginx.connections 2.5) .Values.nginx.workers)) -}}
{{- end }}

{{- define "capacity.podSecurity" -}}
runAsNonRoot: true
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "capacity.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "capacity.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
