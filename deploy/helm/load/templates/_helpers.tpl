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

{{- define "capacity.conductorHost" -}}
{{ .Release.Name }}-conductor.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "capacity.resultsClaim" -}}
{{ .Values.conductor.resultsClaim | default (printf "%s-results" .Release.Name) }}
{{- end }}

{{/* Not empty if the command makes several runs. */}}
{{- define "capacity.isSeries" -}}
{{- if ne (first .Values.command) "conduct" }}true{{ end }}
{{- end }}

{{/* Environment that all pods share. Argument: a list of the root and the further environment. */}}
{{- define "capacity.env" -}}
{{- with (index . 0).Values.target }}
- { name: TARGET, value: {{ . | quote }} }
{{- end }}
{{- range $name, $value := index . 1 }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{/* Environment of the conductor only. */}}
{{- define "capacity.conductorEnv" -}}
{{- with .Values.control }}
- { name: CAPACITY_CONTROL, value: {{ join "," . | quote }} }
- name: CAPACITY_TOKEN
  valueFrom: { secretKeyRef: { name: {{ required "control needs tokenSecret" $.Values.tokenSecret }}, key: token } }
{{- end }}
{{- with .Values.redisUrl }}
- { name: REDIS_URL, value: {{ . | quote }} }
{{- end }}
{{- end }}

{{- define "capacity.pod" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "capacity.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "capacity.container" -}}
image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Pod that writes the results to its output. It waits for a line, because output before kubectl has attached is lost. */}}
{{- define "capacity.copyPod" -}}
{{- include "capacity.pod" . }}
securityContext: {{- include "capacity.podSecurity" . | nindent 2 }}
containers:
  - name: copy
    {{- include "capacity.container" . | nindent 4 }}
    command: [sh, -c, "read line; exec tar -C /results -c ."]
    stdin: true
    stdinOnce: true
    volumeMounts:
      - { name: results, mountPath: /results, readOnly: true }
volumes:
  - { name: results, persistentVolumeClaim: { claimName: {{ include "capacity.resultsClaim" . }} } }
{{- end }}
