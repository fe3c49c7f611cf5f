package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"
)

// safeSysctls are the sysctls that a pod may set on a node: those that upstream's SafeSysctlAllowlist returns with a
// kernel that has all. That function is not called, because it asks the kernel of this machine.
var safeSysctls = []string{
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.ping_group_range",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_wmem",
	"net.ipv4.tcp_slow_start_after_idle",
	"net.ipv4.tcp_notsent_lowat",
}

// forbiddenSysctl returns the reason why a kubelet rejects a pod for one of its sysctls; nil: it does not.
func forbiddenSysctl(ctx context.Context, pod *corev1.Pod) *reason {
	if pod.Spec.SecurityContext == nil || len(pod.Spec.SecurityContext.Sysctls) == 0 {
		return nil
	}
	allowed, err := sysctl.NewAllowlist(safeSysctls)
	if err != nil {
		return &reason{sysctl.ForbiddenReason, err.Error()}
	}
	if result := allowed.Admit(ctx, &lifecycle.PodAdmitAttributes{Pod: pod}); !result.Admit {
		return &reason{result.Reason, result.Message}
	}
	return nil
}
