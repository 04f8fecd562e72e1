{{- define "capacity.isJobSet" -}}
{{- if .Capabilities.APIVersions.Has "jobset.x-k8s.io/v1alpha2" }}true{{ end }}
{{- end }}

{{- define "capacity.conductorJob" -}}
# A failed run is not repeated.
backoffLimit: 0
template:
  metadata:
    labels:
      {{- include "capacity.labels" . | nindent 6 }}
      app.kubernetes.io/component: conductor
      revision: {{ .Release.Revision | quote }}
  spec:
    {{- include "capacity.pod" . | nindent 4 }}
    securityContext: {{- include "capacity.podSecurity" . | nindent 6 }}
    # Long enough for the conductor to end a stopped run.
    terminationGracePeriodSeconds: 60
    containers:
      - name: conductor
        {{- include "capacity.container" . | nindent 8 }}
        command:
          - socketio-capacity
          {{- toYaml .Values.command | nindent 10 }}
          - --hosts={{ .Values.hosts }}
          - --listen=0.0.0.0:3401
          - --secret=/run/join
          {{- if include "capacity.isSeries" . }}
          - --results=/results
          {{- end }}
          - /scenario/scenario.yml
        # A JobSet allows no empty list.
        {{- with printf "%s\n%s" (include "capacity.env" (list . .Values.env)) (include "capacity.conductorEnv" .) | trim }}
        env: {{- . | nindent 10 }}
        {{- end }}
        ports:
          - { name: conductor, containerPort: 3401 }
        resources: {{- toYaml .Values.conductor.resources | nindent 10 }}
        volumeMounts:
          - { name: scenario, mountPath: /scenario, readOnly: true }
          - { name: join, mountPath: /run/join, readOnly: true }
          - { name: results, mountPath: /results }
          - { name: tmp, mountPath: /tmp }
    volumes:
      - { name: scenario, configMap: { name: {{ .Release.Name }}-scenario } }
      - { name: join, secret: { secretName: {{ .Release.Name }}-join, defaultMode: 0440 } }
      - { name: results, persistentVolumeClaim: { claimName: {{ include "capacity.resultsClaim" . }} } }
      - { name: tmp, emptyDir: { sizeLimit: 256Mi } }
{{- end }}

{{- define "capacity.agentsJob" -}}
# All start at once; each agent's index determines its share of the load.
completionMode: Indexed
completions: {{ .Values.hosts }}
parallelism: {{ .Values.hosts }}
# No restart: the run is INVALID anyway once an agent has lost its connections. The other agents continue.
backoffLimitPerIndex: 0
template:
  metadata:
    labels:
      {{- include "capacity.labels" . | nindent 6 }}
      app.kubernetes.io/component: agent
  spec:
    {{- include "capacity.pod" . | nindent 4 }}
    securityContext:
      {{- include "capacity.podSecurity" . | nindent 6 }}
      {{- with .Values.ipLocalPortRange }}
      sysctls:
        - { name: net.ipv4.ip_local_port_range, value: {{ . | quote }} }
      {{- end }}
    terminationGracePeriodSeconds: 30
    # Agents on one node share its CPU and its connection tracking.
    topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        # Ignores nodes with taints that these pods do not tolerate.
        nodeTaintsPolicy: Honor
        labelSelector:
          matchLabels: {{- include "capacity.selector" (list . "agent") | nindent 12 }}
    containers:
      - name: agent
        {{- include "capacity.container" . | nindent 8 }}
        {{- $command := ternary "socketio-capacity host --stay" "socketio-capacity host" (ne (include "capacity.isSeries" .) "") }}
        {{- if include "capacity.isJobSet" . }}
        # A failed Job ends a JobSet, also the conductor, which reports a failed agent. So the agent's exit code is ignored.
        command: [sh, -c, "trap 'kill -TERM $agent' TERM; {{ $command }} & agent=$!; wait $agent; wait $agent; true"]
        {{- else }}
        command: [{{ splitList " " $command | join ", " }}]
        {{- end }}
        env:
          - name: CAPACITY_CONDUCTOR
            valueFrom: { secretKeyRef: { name: {{ .Release.Name }}-join, key: join-token } }
          - name: CAPACITY_HOST
            valueFrom: { fieldRef: { fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']" } }
          {{- include "capacity.env" (list . .Values.env) | nindent 10 }}
        resources: {{- toYaml .Values.agentResources | nindent 10 }}
        volumeMounts:
          - { name: scenario, mountPath: /scenario, readOnly: true }
          - { name: results, mountPath: /results }
          - { name: tmp, mountPath: /tmp }
    volumes:
      - { name: scenario, configMap: { name: {{ .Release.Name }}-scenario } }
      - { name: results, emptyDir: { sizeLimit: 1Gi } }
      - { name: tmp, emptyDir: { sizeLimit: 256Mi } }
{{- end }}
