package host

// The methods of HTTP.
const (
	get     = "GET"
	post    = "POST"
	destroy = "DELETE"
)

// documentPath is where the host serves its OpenAPI document.
const documentPath = "/v1/openapi"

// clusterPath is the path of a cluster.
const clusterPath = "/v1/clusters/{cluster}"

// operations returns the control API.
func operations() []operation {
	return []operation{
		on("getInfo", get, "/v1/info", "Describes the host.", getInfo),
		on("getDocument", get, documentPath, "Returns the OpenAPI document of the control API.", getDocument),
		on("endHost", post, "/v1/end", "Ends the host if no session is open.", endHost),
		openSession(),
		openBubble(),
		openExploration(),
		on("reportTrial", post, "/v1/explorations/{exploration}/trials/{trial}", "Reports what has become of the client's bubble of a trial.", reportTrial),
		on("actInRun", post, "/v1/explorations/{exploration}/trials/{trial}/run", "Acts for a test in one of its runs: starts a controller under test, waits, or logs.", actInRun),

		on("startCluster", post, "/v1/clusters", "Starts a cluster.", startCluster),
		on("listClusters", get, "/v1/clusters", "Lists the clusters.", listClusters),
		on("getCluster", get, clusterPath, "Describes a cluster and how to reach it.", getCluster),
		on("endCluster", destroy, clusterPath, "Ends a cluster, and returns what has gone wrong in it.", endCluster),
		on("forkCluster", post, clusterPath+"/fork", "Starts a copy of a cluster as it is now. Workloads do not run in it.", forkCluster),
		on("compactCluster", post, clusterPath+"/compact", "Discards the history, as a compaction of etcd does.", compactCluster),
		on("getSnapshot", get, clusterPath+"/snapshot", "Returns a snapshot of a cluster, to start others from.", getSnapshot),
		on("getCredentials", post, clusterPath+"/credentials", "Returns credentials for a user or a service account, to whom RBAC applies.", getCredentials),

		on("serveWebhooks", post, clusterPath+"/webhooks", "Sets the handler of the client that serves the webhooks of webhookPaths.", serveWebhooks),

		on("injectFault", post, clusterPath+"/faults", "Injects a fault.", injectFault),
		on("listFaults", get, clusterPath+"/faults", "Lists the faults.", listFaults),
		on("getFault", get, clusterPath+"/faults/{fault}", "Reports how often a fault has fired.", getFault),
		on("stopFault", destroy, clusterPath+"/faults/{fault}", "Ends a fault.", stopFault),
		on("beginHold", post, clusterPath+"/hold", "Begins to hold back the events of all watches.", beginHold),
		on("getPending", get, clusterPath+"/hold", "Lists the events that are held back.", getPending),
		on("deliver", post, clusterPath+"/hold/deliver", "Delivers events that are held back.", deliver),
		on("releaseHold", destroy, clusterPath+"/hold", "Delivers all events that are held back, and ends the hold.", releaseHold),

		on("settle", post, clusterPath+"/settle", "Waits until the cluster is quiet.", settle),
		on("waitFor", post, clusterPath+"/wait", "Waits until an object meets a condition, and returns the object.", waitFor),
		on("checkBudget", post, clusterPath+"/check/budget", "Fails if a client has exceeded a budget.", checkBudget),
		on("checkRole", post, clusterPath+"/check/role", "Fails if roles in manifests do not allow all requests of a user.", checkRole),
		on("checkUnusedRules", post, clusterPath+"/check/unused-rules", "Fails if roles in manifests have rules that a user has never needed.", checkUnusedRules),

		on("explain", post, clusterPath+"/explain", "Explains what the cluster does with a write, stage by stage.", explain),
		on("getRequests", get, clusterPath+"/requests", "Lists the requests to the cluster, with their results.", getRequests),
		on("getHistory", get, clusterPath+"/history", "Lists the states of an object, each with its writer and its changes.", getHistory),
		on("getObjectAt", get, clusterPath+"/object-at", "Returns an object as it was at a revision.", getObjectAt),
		on("getStats", get, clusterPath+"/stats", "Counts all requests.", getStats),
		on("resetStats", destroy, clusterPath+"/stats", "Resets the counts, and discards the requests.", resetStats),
		on("getFindings", get, clusterPath+"/findings", "Returns possible reasons of a failure.", getFindings),
		on("getLastWrites", get, clusterPath+"/last-writes", "Lists the last writes of clients, with their changes.", getLastWrites),
		on("getAccess", get, clusterPath+"/access", "Returns the requests of a user, and the rules that they need.", getAccess),
		on("getAudit", get, clusterPath+"/audit", "Returns the audit trail.", getAudit),
		on("getReport", get, clusterPath+"/report", "Returns a page for a browser: a timeline of requests, objects with their revisions, findings.", getReport),
		on("reportFailure", post, clusterPath+"/failure", "Sets the failed assertion that the page shows; the first one counts.", reportFailure),

		on("startWorkloads", post, clusterPath+"/workloads", "Runs Kubernetes' controllers and scheduler, and nodes with pods; by default three nodes.", startWorkloads),
		on("endWorkloads", destroy, clusterPath+"/workloads", "Ends the workloads, and returns what has gone wrong in them.", endWorkloads),
		onCluster((*Host).living, "actOnContainer", post, clusterPath+"/containers/{container}", "Acts in a container that runs as a function in the process of the client.", actOnContainer),
		on("execInPod", post, clusterPath+"/exec", "Runs a program in a container of a Pod, as kubectl exec does. A function of the client reads and writes its streams.", execInPod),
		on("attachToPod", post, clusterPath+"/attach", "Connects the client with the streams of a running container, as kubectl attach does. A function of the client reads and writes them.", attachToPod),
		on("actInNetwork", post, clusterPath+"/network", "Connects the client with Pods and Services, and reads and writes the connection.", actInNetwork),
		on("actOnNode", post, clusterPath+"/nodes/{node}", "Cordons, drains or deletes a node, stops its heartbeats, or makes it report pressure.", actOnNode),
	}
}
