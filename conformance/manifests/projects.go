package main

import "strings"

// project is what a project ships to be installed.
type project struct {
	module, version string
	// paths are files, folders with a kustomization, or folders whose files are installed, in the module.
	paths []string
	// namespace is created first, and has the objects that name none.
	namespace string
	// needs are installed before.
	needs []*project
	// first is created before, as YAML: what a program of the project makes, without which Pods are not ready. made names it.
	first, made string
	// flags are those of serve without which it does not become ready, or its object is refused.
	flags []string
	// object is what its users create, as YAML.
	object string
	// why says why it cannot be installed without programs.
	why string
}

// String names what is installed.
func (p *project) String() string {
	name := p.module + " " + p.paths[0]
	var help []string
	if len(p.flags) > 0 {
		help = append(help, p.flags[0]+" '"+strings.Join(p.flags[1:], " ")+"'")
	}
	if p.made != "" {
		help = append(help, p.made)
	}
	if help != nil {
		name += " with " + strings.Join(help, " and ")
	}
	return name
}

// certManager is cert-manager as Knative ships it.
var certManager = &project{module: "knative.dev/serving", version: "v0.51.0", paths: []string{"third_party/cert-manager-latest/cert-manager.yaml"}}

// projects are installed, in the order of their modules.
var projects = []*project{
	{
		module: "github.com/argoproj/argo-cd/v3", version: "v3.1.0",
		paths:     []string{"manifests/install.yaml"},
		namespace: "argocd",
		first: `
apiVersion: v1
kind: Namespace
metadata: {name: argocd}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-redis, namespace: argocd}
stringData: {auth: secret}
`,
		made: "the Secret argocd-redis",
		object: `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: guestbook, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://example.com/apps.git, path: guestbook, targetRevision: HEAD}
  destination: {server: https://kubernetes.default.svc, namespace: default}
`,
	},
	{
		module: "github.com/argoproj/argo-rollouts", version: "v1.8.3",
		paths:     []string{"manifests/install.yaml"},
		namespace: "argo-rollouts",
		object: `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {canary: {steps: [{setWeight: 20}, {pause: {}}]}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`,
	},
	{
		module: "github.com/argoproj/argo-workflows/v4", version: "v4.0.5",
		paths:     []string{"manifests/quick-start-minimal.yaml"},
		namespace: "argo",
		object: `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: hello, namespace: argo}
spec:
  entrypoint: main
  templates: [{name: main, container: {image: busybox, command: [echo, hello]}}]
`,
	},
	{
		module: "github.com/cloudnativelabs/kube-router/v2", version: "v2.1.0",
		paths: []string{"daemonset/generic-kuberouter.yaml"},
	},
	{
		module: "github.com/flannel-io/flannel", version: "v0.28.10",
		paths: []string{"Documentation/kube-flannel.yml"},
	},
	{
		module: "github.com/fluxcd/source-controller", version: "v1.7.0",
		paths: []string{"config/default"},
		object: `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: podinfo, namespace: default}
spec: {interval: 1m, url: https://example.com/podinfo.git, ref: {branch: master}}
`,
	},
	{
		module: "github.com/k8snetworkplumbingwg/whereabouts", version: "v0.9.2",
		paths: []string{"doc/crds"},
		object: `
apiVersion: whereabouts.cni.cncf.io/v1alpha1
kind: IPPool
metadata: {name: pool, namespace: kube-system}
spec: {range: 10.0.0.0/24, allocations: {}}
`,
	},
	{
		module: "github.com/kedacore/keda/v2", version: "v2.21.0",
		paths: []string{"config/default"},
		first: `
apiVersion: v1
kind: Namespace
metadata: {name: keda}
---
apiVersion: v1
kind: Secret
metadata: {name: kedaorg-certs, namespace: keda}
stringData: {ca.crt: secret, tls.crt: secret, tls.key: secret}
`,
		made:  "the Secret kedaorg-certs",
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {name: web}
  triggers: [{type: cron, metadata: {timezone: UTC, start: 0 6 * * *, end: 0 20 * * *, desiredReplicas: "10"}}]
`,
	},
	{
		module: "github.com/kubeflow/katib", version: "v0.19.0",
		paths: []string{"manifests/v1beta1/installs/katib-standalone"},
	},
	{
		module: "github.com/kubeflow/training-operator", version: "v1.8.1",
		paths: []string{"manifests/overlays/standalone"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: default}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template: {spec: {containers: [{name: pytorch, image: train}]}}
`,
	},
	{
		module: "github.com/kubernetes-csi/external-attacher/v4", version: "v4.13.0",
		paths: []string{"deploy/kubernetes"},
	},
	{
		module: "github.com/kubernetes-csi/external-snapshotter/v8", version: "v8.7.0",
		paths: []string{"deploy/kubernetes/snapshot-controller"},
	},
	{
		module: "github.com/kyverno/kyverno", version: "v1.19.1",
		paths: []string{"config/install-latest-testing.yaml"},
		object: `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {failureAction: Audit, message: team is required, pattern: {metadata: {labels: {team: "?*"}}}}
`,
	},
	{
		module: "github.com/metallb/frr-k8s", version: "v0.0.21",
		paths: []string{"config/all-in-one/frr-k8s.yaml"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: frrk8s.metallb.io/v1beta1
kind: FRRConfiguration
metadata: {name: peers, namespace: frr-k8s-system}
spec: {raw: {rawConfig: log syslog}}
`,
	},
	{
		module: "github.com/open-policy-agent/gatekeeper/v3", version: "v3.23.1",
		paths: []string{"deploy/gatekeeper.yaml"},
		object: `
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8srequiredlabels}
spec:
  crd: {spec: {names: {kind: K8sRequiredLabels}}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: "package k8srequiredlabels\nviolation[{\"msg\": \"no\"}] { false }"}]
`,
	},
	{
		module: "github.com/projectcontour/contour", version: "v1.33.8",
		paths: []string{"examples/render/contour.yaml"},
		first: `
apiVersion: v1
kind: Namespace
metadata: {name: projectcontour}
---
apiVersion: v1
kind: Secret
metadata: {name: contourcert, namespace: projectcontour}
stringData: {ca.crt: secret, tls.crt: secret, tls.key: secret}
---
apiVersion: v1
kind: Secret
metadata: {name: envoycert, namespace: projectcontour}
stringData: {ca.crt: secret, tls.crt: secret, tls.key: secret}
`,
		made: "the Secrets contourcert and envoycert",
		object: `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web, namespace: default}
spec: {virtualhost: {fqdn: web.example.com}, routes: [{services: [{name: web, port: 80}]}]}
`,
	},
	{
		module: "github.com/projectcalico/calico", version: "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520",
		paths: []string{"manifests/calico.yaml"},
		object: `
apiVersion: crd.projectcalico.org/v1
kind: IPPool
metadata: {name: pool}
spec: {cidr: 10.1.0.0/16, ipipMode: Always}
`,
	},
	{
		module: "github.com/prometheus-operator/prometheus-operator", version: "v0.85.0",
		paths: []string{"bundle.yaml"},
		object: `
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main, namespace: default}
spec: {replicas: 1, serviceMonitorSelector: {}}
`,
	},
	{
		module: "github.com/rabbitmq/cluster-operator/v2", version: "v2.20.0",
		paths: []string{"config/installation"},
		object: `
apiVersion: rabbitmq.com/v1beta1
kind: RabbitmqCluster
metadata: {name: queue, namespace: default}
spec: {replicas: 3}
`,
	},
	{
		module: "github.com/rancher/local-path-provisioner", version: "v0.0.30",
		paths: []string{"deploy/local-path-storage.yaml"},
		object: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {storageClassName: local-path, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
	},
	{
		module: "github.com/ray-project/kuberay/ray-operator", version: "v1.5.0",
		paths: []string{"config/default"},
		object: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: rays, namespace: default}
spec: {headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}}
`,
	},
	{
		module: "go.universe.tf/metallb", version: "v0.16.2",
		paths: []string{"config/manifests/metallb-native.yaml"},
		first: `
apiVersion: v1
kind: Namespace
metadata: {name: metallb-system}
---
apiVersion: v1
kind: Secret
metadata: {name: memberlist, namespace: metallb-system}
stringData: {secretkey: secret}
`,
		made:  "the Secret memberlist",
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: pool, namespace: metallb-system}
spec: {addresses: [192.168.10.0/24]}
`,
	},
	{
		module: "k8s.io/autoscaler/vertical-pod-autoscaler", version: "v1.8.1",
		paths: []string{"deploy"},
		first: `
apiVersion: v1
kind: Secret
metadata: {name: vpa-tls-certs, namespace: kube-system}
stringData: {caCert.pem: secret, serverCert.pem: secret, serverKey.pem: secret}
`,
		made: "the Secret vpa-tls-certs",
		object: `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: default}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: "Off"}}
`,
	},
	{
		module: "k8s.io/ingress-nginx", version: "v0.0.0-20240708192948-52c50467d67d",
		paths: []string{"deploy/static/provider/cloud/deploy.yaml"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: default}
spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}}
`,
	},
	{
		module: "knative.dev/serving", version: "v0.51.0",
		paths: []string{"third_party/cert-manager-latest/cert-manager.yaml"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: default}
spec: {secretName: web-tls, dnsNames: [web.example.com], issuerRef: {name: self, kind: Issuer}}
`,
	},
	{
		module: "sigs.k8s.io/cluster-api", version: "v1.14.2",
		paths: []string{"core/config/default"},
		first: `
apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: v1
kind: Secret
metadata: {name: capi-webhook-service-cert, namespace: capi-system}
stringData: {ca.crt: secret, tls.crt: secret, tls.key: secret}
`,
		made:  "the Secret capi-webhook-service-cert",
		needs: []*project{certManager},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: default}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerCluster, name: c}}
`,
	},
	{
		module: "sigs.k8s.io/cluster-api-provider-aws/v2", version: "v2.13.0",
		paths: []string{"config/default"},
		needs: []*project{certManager},
		flags: []string{"--behavior", "{admission: allow}"},
		why:   "annotations and Secrets have variables that clusterctl fills in; a real server refuses them, too",
	},
	{
		module: "sigs.k8s.io/descheduler", version: "v0.36.0",
		paths: []string{"kubernetes/base", "kubernetes/deployment"},
	},
	{
		module: "sigs.k8s.io/external-dns", version: "v0.19.0",
		paths: []string{"kustomize"},
		object: `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default, annotations: {external-dns.alpha.kubernetes.io/hostname: web.example.com}}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
`,
	},
	{
		module: "sigs.k8s.io/jobset", version: "v0.12.0",
		paths: []string{"config/default"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set, namespace: default}
spec:
  replicatedJobs:
  - name: workers
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}
`,
	},
	{
		module: "sigs.k8s.io/kube-network-policies", version: "v0.8.0",
		paths: []string{"install.yaml"},
		object: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: default}
spec: {podSelector: {}, policyTypes: [Ingress]}
`,
	},
	{
		module: "sigs.k8s.io/kueue", version: "v0.17.0",
		paths: []string{"config/default"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default}
`,
	},
	{
		module: "sigs.k8s.io/kwok", version: "v0.8.0",
		paths: []string{"kustomize/kwok"},
		object: `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec: {resourceRef: {apiGroup: v1, kind: Pod}, selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: DoesNotExist}]}, next: {statusTemplate: "phase: Running"}}
`,
	},
	{
		module: "sigs.k8s.io/lws", version: "v0.9.0",
		paths: []string{"config/default"},
		flags: []string{"--behavior", "{admission: allow}"},
		object: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: group, namespace: default}
spec: {replicas: 1, leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {containers: [{name: c, image: nginx}]}}}}
`,
	},
	{
		module: "sigs.k8s.io/metrics-server", version: "v0.9.0",
		paths: []string{"manifests/overlays/release"},
	},
}
