// Prints golden rows about scheduling: quantities, requests, free resources, scores, affinity, messages, and the
// tolerations that are added to pods.
//
// This is the second half of the program in main.go. It lists every input, and writes the text of
// crates/core/tests/golden/scheduling.txt. Every result comes from Kubernetes.
package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	_ "unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	helpers "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	daemon "k8s.io/kubernetes/pkg/controller/daemon/util"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
)

//go:linkname balanced k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources.balancedResourceScorer
func balanced(requested, allocated, allocatable []int64) int64

//go:linkname leastRequested k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources.leastRequestedScore
func leastRequested(requested, capacity int64) int64

const schedulingHeader = `# Regenerate: cargo xtask golden
# Answers of the Go functions of %s; made by xtask/cluster/golden.
#
# Lines that start with '#' and empty lines are comments. A line "[name]" opens a section. Columns are separated by one
# tab. In texts, \\ \t \n \0 stand for backslash, tab, line feed, NUL; an empty column is the empty text.
#
# [quantity]: ParseQuantity.
#   row <text> <units> <milli> <form>       Value, MilliValue ("max" or "min" where they do not fit into 64 bits) and
#                                           String; or <text> <error>
# [requests]: PodRequests, in thousandths of CPU.
#   row <containers> <init containers> <milli>   CPU requests separated by blanks; "*" before one: goes on running
# [fits]: noderesources.Fits of a pod on a node.
#   row <cpu> <memory> <gpu> <used cpu> <used memory> <pods> <reasons>
#                                           the node has 4000 of CPU, 1000 of memory, no gpu, room for 3 pods; reasons
#                                           separated by ";" with "!" before one that no preemption can help
# [balance]: balancedResourceScorer.        row <cpu> <memory> <used cpu> <used memory> <all cpu> <all memory> <score>
# [room]: leastRequestedScore.              row <taken> <whole> <score>
# [affinity]: RequiredNodeAffinity.Match of one requirement.
#   node <name> <label k>                   "-" = not there
#   row <label|field> <key> <operator> <values> <bits>    values after "/" each; a 0 or 1 per node
# [message]: FitError.Error, with what preemption adds. row <reasons> <message>: reasons per node, separated by ";"
# [daemon]: AddOrUpdateDaemonPodTolerations. row <host network> <template> <result>
# [defaults]: DefaultTolerationSeconds.     row <pod> <result>
#   tolerations are separated by ";", their key, operator, value, effect and seconds ("-" = none) by ","
`

func writeScheduling() {
	fmt.Fprintf(out, schedulingHeader, release())
	writeQuantities()
	writeRequests()
	writeFits()
	writeScores()
	writeAffinity()
	writeMessages()
	writeTolerations()
}

var quantityNumbers = []string{
	"", "0", "00", "1", "7", "8", "+5", "-1", "-0", "007", "10", "100", "1000", "1024", "1500", "2000", "1048576",
	"123456789", "999999999999999999", "1234567890123456789", "9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "99999999999999999999999", "0.5", ".5", "5.", ".", "-", "+", "-.", "1.5", "1.500", "0.500",
	"1.25", "0.001", "0.0001", "0.0000000001", "1.0000000000000000000001", "123456789.987654321", "1000.000", "-1.5",
	"-0.0001", "100000000000000.5", "0.333333333333333333333333",
}

var quantitySuffixes = []string{
	"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e", "e0", "e1", "e3", "E3", "e+3", "e-3", "E-9", "e-12", "e03", "e18", "ee3", "K", "ki", "mi", "KI", "mm", "i", "-5", "+", "e+",
	" ", "Gi ", "g", "Gib", "e3.5", ".5", "_000", ",5", "\x00", "e99999999999999999999",
}

func writeQuantities() {
	fmt.Fprint(out, "\n[quantity]\n")
	for _, number := range quantityNumbers {
		for _, suffix := range quantitySuffixes {
			text := number + suffix
			q, err := resource.ParseQuantity(text)
			switch err {
			case nil:
				line("row", text, within(q, q.Value(), 1), within(q, q.MilliValue(), 1000), q.String())
			case resource.ErrFormatWrong:
				line("row", text, "shape")
			case resource.ErrNumeric:
				line("row", text, "number")
			case resource.ErrSuffix:
				line("row", text, "suffix")
			default:
				panic(err)
			}
		}
	}
}

func within(q resource.Quantity, value, scale int64) string {
	most, least := resource.NewQuantity(math.MaxInt64, resource.DecimalSI), resource.NewQuantity(math.MinInt64, resource.DecimalSI)
	if scale == 1000 {
		most, least = resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI), resource.NewMilliQuantity(math.MinInt64, resource.DecimalSI)
	}
	if q.Cmp(*most) > 0 {
		return "max"
	}
	if q.Cmp(*least) < 0 {
		return "min"
	}
	return strconv.FormatInt(value, 10)
}

func writeRequests() {
	fmt.Fprint(out, "\n[requests]\n")
	pool := []string{"100m", "0.4m", "2", "*1", "*0.3m", "*3"}
	for _, main := range lists(3, 2) {
		for _, first := range lists(len(pool), 3) {
			pod := &v1.Pod{}
			pod.Spec.Containers = containers(pool, main)
			pod.Spec.InitContainers = containers(pool, first)
			requests := helpers.PodRequests(pod, helpers.PodResourcesOptions{})
			line("row", chosen(pool, main), chosen(pool, first), strconv.FormatInt(requests.Cpu().MilliValue(), 10))
		}
	}
}

func containers(pool []string, list []int) []v1.Container {
	made := []v1.Container{}
	for _, n := range list {
		text, always := strings.CutPrefix(pool[n], "*")
		c := v1.Container{}
		c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(text)}
		if always {
			policy := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &policy
		}
		made = append(made, c)
	}
	return made
}

func chosen(pool []string, list []int) string {
	texts := []string{}
	for _, n := range list {
		texts = append(texts, pool[n])
	}
	return strings.Join(texts, " ")
}

func requesting(cpu, memory, gpu int64) *v1.Pod {
	pod := &v1.Pod{}
	requests := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.DecimalSI),
	}
	if gpu >= 0 {
		requests["example.com/gpu"] = *resource.NewQuantity(gpu, resource.DecimalSI)
	}
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}
	return pod
}

func writeFits() {
	fmt.Fprint(out, "\n[fits]\n")
	node := &v1.Node{}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("1000"), v1.ResourcePods: resource.MustParse("3"),
	}
	cpus, memories := []int64{0, 1, 1000, 1001, 4000, 4001}, []int64{0, 500, 501, 1000, 1001}
	for _, cpu := range cpus {
		for _, memory := range memories {
			for _, gpu := range []int64{-1, 0, 1} {
				for _, used := range [][]int64{{0, 0, 0}, {3000, 500, 1}, {3000, 500, 3}, {9000, 9000, 2}} {
					info := framework.NewNodeInfo()
					info.SetNode(node)
					for i := range used[2] {
						pod := requesting(0, 0, -1)
						if i == 0 {
							pod = requesting(used[0], used[1], -1)
						}
						pod.Name = strconv.FormatInt(i, 10)
						pi, err := framework.NewPodInfo(pod)
						if err != nil {
							panic(err)
						}
						info.AddPodInfo(pi)
					}
					reasons := []string{}
					for _, missing := range noderesources.Fits(requesting(cpu, memory, gpu), info, nil, noderesources.ResourceRequestsOptions{}) {
						text := missing.Reason
						if missing.Unresolvable {
							text = "!" + text
						}
						reasons = append(reasons, text)
					}
					line("row", append(numbers64(cpu, memory, gpu, used[0], used[1], used[2]), strings.Join(reasons, ";"))...)
				}
			}
		}
	}
}

func numbers64(list ...int64) []string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return texts
}

func writeScores() {
	fmt.Fprint(out, "\n[balance]\n")
	amounts, wholes := []int64{0, 1, 333, 1000, 2500, 7000}, []int64{0, 3000, 8000}
	for _, cpu := range amounts {
		for _, memory := range amounts {
			for _, usedCPU := range amounts {
				for _, usedMemory := range amounts {
					for _, whole := range wholes {
						for _, wholeMemory := range wholes {
							used := []int64{usedCPU, usedMemory}
							all := []int64{whole, wholeMemory}
							score := balanced([]int64{cpu + usedCPU, memory + usedMemory}, used, all)
							line("row", numbers64(cpu, memory, usedCPU, usedMemory, whole, wholeMemory, score)...)
						}
					}
				}
			}
		}
	}
	fmt.Fprint(out, "\n[room]\n")
	for taken := int64(0); taken <= 40; taken++ {
		for _, whole := range []int64{1, 3, 7, 37, 40, 4000} {
			line("row", numbers64(taken, whole, leastRequested(taken, whole))...)
		}
	}
}

func writeAffinity() {
	fmt.Fprint(out, "\n[affinity]\n")
	values := []string{"-", "", "a", "b", "5", "6", "-5", "05", "9223372036854775807"}
	nodes := []*v1.Node{}
	for _, name := range []string{"n", "m"} {
		for _, value := range values {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
			if value != "-" {
				node.Labels["k"] = value
			}
			nodes = append(nodes, node)
			line("node", name, value)
		}
	}
	lists := [][]string{
		{}, {""}, {"a"}, {"a", "b"}, {"5"}, {"05"}, {"0"}, {"9223372036854775806"}, {"9223372036854775808"}, {"5", "6"}, {"n"}, {"m"}, {"n", "m"},
	}
	for _, kind := range []string{"label", "field"} {
		for _, key := range []string{"k", "none", "metadata.name"} {
			for _, operator := range []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", ""} {
				for _, list := range lists {
					requirement := v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOperator(operator), Values: list}
					bits := ""
					for _, node := range nodes {
						bits += matches(kind, requirement, node)
					}
					text := ""
					for _, value := range list {
						text += "/" + value
					}
					line("row", kind, key, operator, text, bits)
				}
			}
		}
	}
}

func matches(kind string, requirement v1.NodeSelectorRequirement, node *v1.Node) string {
	term := v1.NodeSelectorTerm{}
	if kind == "label" {
		term.MatchExpressions = []v1.NodeSelectorRequirement{requirement}
	} else {
		term.MatchFields = []v1.NodeSelectorRequirement{requirement}
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}},
	}}}}
	if match, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); match {
		return "1"
	}
	return "0"
}

func writeMessages() {
	fmt.Fprint(out, "\n[message]\n")
	pool := []string{
		"node(s) were unschedulable", "node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector",
		"Insufficient cpu", "Insufficient memory", "Too many pods", "Insufficient example.com/gpu",
	}
	rows := lists(len(pool), 3)[1:]
	for _, times := range []int{2, 9, 10, 11} {
		row := []int{}
		for range times {
			row = append(row, 0, 3, 3)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		why, helps := []string{}, []string{}
		for _, n := range row {
			why = append(why, pool[n])
			if n >= 3 {
				helps = append(helps, "No preemption victims found for incoming pod")
			} else {
				helps = append(helps, "Preemption is not helpful for scheduling")
			}
		}
		line("row", strings.Join(why, ";"), fitError(why)+" preemption: "+fitError(helps))
	}
}

func fitError(reasons []string) string {
	nodes := map[string]*fwk.Status{}
	for i, reason := range reasons {
		nodes[strconv.Itoa(i)] = fwk.NewStatus(fwk.Unschedulable, reason)
	}
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewNodeToStatus(nodes, fwk.NewStatus(fwk.Unschedulable))}
	failed := &framework.FitError{NumAllNodes: len(reasons), Diagnosis: diagnosis}
	return failed.Error()
}

// Tolerations that templates and pods are made of.
var addedPool = []v1.Toleration{
	{Key: v1.TaintNodeNotReady, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: seconds(60)},
	{Key: v1.TaintNodeNotReady, Operator: "Exists", Effect: "NoExecute"},
	{Key: v1.TaintNodeNotReady, Effect: "NoExecute", TolerationSeconds: seconds(60)},
	{Key: v1.TaintNodeNotReady, Operator: "Equal", Value: "x", Effect: "NoExecute"},
	{Key: v1.TaintNodeUnreachable, Operator: "Exists"},
	{Key: v1.TaintNodeUnreachable, Operator: "Exists", Effect: "NoSchedule"},
	{Key: v1.TaintNodeNetworkUnavailable, Operator: "Exists", Effect: "NoSchedule"},
	{Operator: "Exists", Effect: "NoExecute"},
	{Operator: "Exists"},
	{Key: "own", Operator: "Exists"},
}

func writeTolerations() {
	fmt.Fprint(out, "\n[daemon]\n")
	for _, list := range lists(len(addedPool), 2) {
		for _, host := range []bool{false, true} {
			spec := v1.PodSpec{HostNetwork: host}
			for _, n := range list {
				spec.Tolerations = append(spec.Tolerations, addedPool[n])
			}
			before := tolerationsText(spec.Tolerations)
			daemon.AddOrUpdateDaemonPodTolerations(&spec)
			line("row", strconv.FormatBool(host), before, tolerationsText(spec.Tolerations))
		}
	}
	fmt.Fprint(out, "\n[defaults]\n")
	plugin := defaulttolerationseconds.NewDefaultTolerationSeconds()
	plugin.InspectFeatureGates(nil)
	for _, list := range lists(len(addedPool), 2) {
		pod := &core.Pod{}
		given := []v1.Toleration{}
		for _, n := range list {
			given = append(given, addedPool[n])
			var internal core.Toleration
			if err := corev1.Convert_v1_Toleration_To_core_Toleration(&addedPool[n], &internal, nil); err != nil {
				panic(err)
			}
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, internal)
		}
		request := admission.NewAttributesRecord(pod, nil, core.Kind("Pod").WithVersion("v1"), "ns", "name",
			core.Resource("pods").WithVersion("v1"), "", admission.Create, &metav1.CreateOptions{}, false, nil)
		if err := plugin.Admit(context.Background(), request, nil); err != nil {
			panic(err)
		}
		result := []v1.Toleration{}
		for i := range pod.Spec.Tolerations {
			var external v1.Toleration
			if err := corev1.Convert_core_Toleration_To_v1_Toleration(&pod.Spec.Tolerations[i], &external, nil); err != nil {
				panic(err)
			}
			result = append(result, external)
		}
		line("row", tolerationsText(given), tolerationsText(result))
	}
}

func tolerationsText(list []v1.Toleration) string {
	texts := []string{}
	for _, t := range list {
		texts = append(texts, strings.Join([]string{t.Key, string(t.Operator), t.Value, string(t.Effect), secondsText(t.TolerationSeconds)}, ","))
	}
	return strings.Join(texts, ";")
}
