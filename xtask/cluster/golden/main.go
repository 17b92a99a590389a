// Prints golden rows: the results of the Kubernetes functions themselves for taints, tolerations and scheduling.
//
// The program is in the cluster's module, so that it is linked with the release that the tests use. Its argument selects
// the rows, "matching" (in this file) or "scheduling" (in scheduling.go); both files list every input. It writes the text of
// that file of crates/core/tests/golden to standard output; its header explains the format. Every result comes from
// Kubernetes. Where Taintward differs on purpose (D7, D11), the Rust test says so.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	_ "unsafe"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	_ "k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/features"
)

// The two decisions of the eviction controller that it does not export: which taints count, and how long the used
// tolerations let a pod stay.

//go:linkname minTolerationTime k8s.io/kubernetes/pkg/controller/tainteviction.getMinTolerationTime
func minTolerationTime(tolerations []v1.Toleration) int64

//go:linkname noExecuteTaints k8s.io/kubernetes/pkg/controller/tainteviction.getNoExecuteTaints
func noExecuteTaints(taints []v1.Taint) []v1.Taint

var switches = []string{"off", "on"}

var operators = []string{
	"", "Equal", "Exists", "Lt", "Gt",
	"equal", "exists", "EXISTS", "lt", "GT", "Exists ", "In", "NotIn", "DoesNotExist", "Le", "Ge", "==", "\n",
}

var keys = []string{"", "k", "K", "example.com/k"}

var effects = []string{"", "NoExecute", "NoSchedule", "PreferNoSchedule", "noexecute", "NoExecute "}

var words = []string{"", "v", "V", "5", "6", "-5"}

// Inputs that a parser of whole numbers could parse wrongly.
var numbers = []string{
	"", "0", "-0", "+0", "00", "1", "-1", "+1", "01", "-01", "--1", "-", "+", "2", "9", "10", "-10", "100",
	" 1", "1 ", "1\n", "\t1", "\u00a01", "1.0", "1.", ".1", "1e3", "0x1", "1_0", "1,0", "one", "\uff11", "\u0663", "-\uff11", "1\x00",
	"2147483648", "4294967296", "9223372036854775806", "9223372036854775807", "9223372036854775808",
	"-9223372036854775807", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"18446744073709551616", "99999999999999999999999999", "-99999999999999999999999999", "inf", "NaN",
}

var comparisons = []string{"", "Equal", "Exists", "Lt", "Gt"}

func seconds(n int64) *int64 { return &n }

// Tolerations that lists are made of: overlapping, disjoint, empty, numeric, with and without seconds.
var tolerationPool = []v1.Toleration{
	{Key: "a", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: seconds(300)},
	{Key: "a", Operator: "Exists", Effect: "NoExecute"},
	{Key: "a", Operator: "Equal", Value: "7", Effect: "NoExecute", TolerationSeconds: seconds(60)},
	{Key: "a", Value: "x", TolerationSeconds: seconds(0)},
	{Key: "b", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: seconds(120)},
	{Key: "b", Operator: "Exists", Effect: "NoSchedule"},
	{Operator: "Exists", Effect: "NoExecute", TolerationSeconds: seconds(-5)},
	{Operator: "Exists"},
	{Operator: "Equal", Value: "7", TolerationSeconds: seconds(math.MaxInt64)},
	{Key: "a", Operator: "Gt", Value: "5", Effect: "NoExecute", TolerationSeconds: seconds(10)},
	{Key: "a", Operator: "Lt", Value: "5", Effect: "NoExecute", TolerationSeconds: seconds(20)},
	{Key: "a", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: seconds(18446744074)},
	{Key: "a", Operator: "exists", Effect: "NoExecute"},
}

// Taints that nodes are made of.
var taintPool = []v1.Taint{
	{Key: "a", Effect: "NoExecute"},
	{Key: "a", Value: "7", Effect: "NoExecute"},
	{Key: "a", Value: "x", Effect: "NoExecute"},
	{Key: "a", Value: "3", Effect: "NoExecute"},
	{Key: "b", Effect: "NoExecute"},
	{Key: "a", Effect: "NoSchedule"},
	{Key: "c", Effect: "NoExecute"},
}

// Seconds that lists of used tolerations are made of; nil is "no seconds".
var secondsPool = []*int64{
	nil, seconds(0), seconds(-1), seconds(math.MinInt64), seconds(1), seconds(60), seconds(300),
	seconds(9223372036), seconds(9223372037), seconds(18446744073), seconds(18446744074), seconds(18446744075),
	seconds(math.MaxInt64 - 1), seconds(math.MaxInt64),
}

const header = `# Regenerate: cargo xtask golden
# Answers of the Go functions of %s; made by xtask/cluster/golden.
#
# Lines that start with '#' and empty lines are comments. A line "[name]" opens a section. Columns are separated by one
# tab. In texts, \\ \t \n \0 stand for backslash, tab, line feed, NUL; an empty column is the empty text.
#
# [cross] and [numeric]: Toleration.ToleratesTaint for every toleration against every taint of the section.
#   taint <key> <value> <effect>                            one line per taint, numbered from 0 in order
#   row <off|on> <key> <operator> <value> <effect> <bits>   the switch, one toleration, and the answers: a bit per taint, 1 =
#                                                           tolerated, four taints to a hexadecimal digit (taint 0 is the
#                                                           highest bit of the first digit; the last is filled up with 0)
# [lists]: for whole lists: the taints that count (getNoExecuteTaints), then GetMatchingTolerations, then
#   getMinTolerationTime over the used ones.
#   toleration <key> <operator> <value> <effect> <seconds>  numbered from 0 in order; "-" = no seconds
#   taint <key> <value> <effect>                            numbered from 0 in order
#   node <taints>                                           a node: its taints' numbers, separated by blanks; numbered from 0
#   stay <letter> <nanoseconds>                             what a letter in an answer means; negative = for ever
#   row <off|on> <tolerations> <answers>                    the pod's tolerations' numbers, separated by blanks, and per
#                                                           node one answer, separated by blanks:
#                                                           "."  no taint counts
#                                                           "!"  not tolerated: goes now
#                                                           else per taint of the node the position (in this pod's list)
#                                                           of the toleration used, "_" for a taint that does not count,
#                                                           then the letter of the time the pod may stay
# [minimum]: getMinTolerationTime over used tolerations with these seconds.
#   row <seconds> <nanoseconds>                             seconds separated by blanks, "-" = none given; negative = for ever
`

var out = bufio.NewWriter(os.Stdout)

func main() {
	defer out.Flush()
	switch strings.Join(os.Args[1:], " ") {
	case "matching":
		writeMatching()
	case "scheduling":
		writeScheduling()
	default:
		panic("say which rows: matching or scheduling")
	}
}

func writeMatching() {
	fmt.Fprintf(out, header, release())
	writeMatches("cross", product(keys, words, effects), product(keys, operators, words, effects))
	writeMatches("numeric", product([]string{"k"}, numbers, []string{"NoExecute"}),
		product([]string{"k"}, comparisons, numbers, []string{"NoExecute"}))
	writeLists()
	writeMinimum()
}

// release names the Kubernetes release that is linked in.
func release() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/kubernetes" {
				return dep.Path + " " + dep.Version
			}
		}
	}
	panic("this program is not linked with k8s.io/kubernetes")
}

func writeMatches(section string, taints, tolerations [][]string) {
	fmt.Fprintf(out, "\n[%s]\n", section)
	for _, taint := range taints {
		line("taint", taint...)
	}
	for at, text := range switches {
		for _, toleration := range tolerations {
			answers := make([]bool, len(taints))
			for i, taint := range taints {
				answers[i] = tolerates(toleration, taint, at == 1)
			}
			line("row", append(append([]string{text}, toleration...), hexadecimal(answers))...)
		}
	}
}

func tolerates(toleration, taint []string, comparison bool) bool {
	t := v1.Toleration{
		Key: toleration[0], Operator: v1.TolerationOperator(toleration[1]),
		Value: toleration[2], Effect: v1.TaintEffect(toleration[3]),
	}
	return t.ToleratesTaint(logr.Discard(), &v1.Taint{
		Key: taint[0], Value: taint[1], Effect: v1.TaintEffect(taint[2]),
	}, comparison)
}

func writeLists() {
	fmt.Fprint(out, "\n[lists]\n")
	for _, t := range tolerationPool {
		line("toleration", t.Key, string(t.Operator), t.Value, string(t.Effect), secondsText(t.TolerationSeconds))
	}
	for _, t := range taintPool {
		line("taint", t.Key, t.Value, string(t.Effect))
	}
	nodes := append(lists(len(taintPool), 2), [][]int{{0, 4, 6}, {1, 4, 2}, {4, 5, 3}}...)
	for _, node := range nodes {
		line("node", numbersText(node))
	}
	letters := newLetters()
	rows := [][]string{}
	for at, text := range switches {
		enable(at == 1)
		for _, pod := range lists(len(tolerationPool), 3) {
			answers := make([]string, len(nodes))
			for i, node := range nodes {
				answers[i] = answer(pod, node, letters)
			}
			rows = append(rows, []string{text, numbersText(pod), strings.Join(answers, " ")})
		}
	}
	for i, nanoseconds := range letters.order {
		line("stay", letter(i), strconv.FormatInt(nanoseconds, 10))
	}
	for _, row := range rows {
		line("row", row...)
	}
}

// answer calls the functions in the controller's order. It finds the position of a used toleration by a second call with
// the positions instead of the seconds, which do not affect matching.
func answer(pod, node []int, letters *letters) string {
	taints := make([]v1.Taint, len(node))
	for i, n := range node {
		taints[i] = taintPool[n]
	}
	counting := noExecuteTaints(taints)
	if len(counting) == 0 {
		return "."
	}
	tolerations, positions := make([]v1.Toleration, len(pod)), make([]v1.Toleration, len(pod))
	for i, n := range pod {
		tolerations[i], positions[i] = tolerationPool[n], tolerationPool[n]
		positions[i].TolerationSeconds = seconds(int64(i))
	}
	tolerated, used := v1helper.GetMatchingTolerations(logr.Discard(), counting, tolerations)
	_, usedPositions := v1helper.GetMatchingTolerations(logr.Discard(), counting, positions)
	if !tolerated {
		return "!"
	}
	text, next := "", 0
	for _, taint := range taints {
		if taint.Effect == v1.TaintEffectNoExecute {
			text += strconv.FormatInt(*usedPositions[next].TolerationSeconds, 10)
			next++
		} else {
			text += "_"
		}
	}
	return text + letters.of(minTolerationTime(used))
}

func writeMinimum() {
	fmt.Fprint(out, "\n[minimum]\n")
	for _, list := range lists(len(secondsPool), 3) {
		if len(list) == 0 {
			continue // No caller reaches it (TE-21).
		}
		used, texts := make([]v1.Toleration, len(list)), make([]string, len(list))
		for i, n := range list {
			used[i].TolerationSeconds = secondsPool[n]
			texts[i] = secondsText(secondsPool[n])
		}
		line("row", strings.Join(texts, " "), strconv.FormatInt(minTolerationTime(used), 10))
	}
}

func enable(comparison bool) {
	gate := map[string]bool{string(features.TaintTolerationComparisonOperators): comparison}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gate); err != nil {
		panic(err)
	}
}

// product is the cross product of texts, the last axis fastest.
func product(axes ...[]string) [][]string {
	rows := [][]string{{}}
	for _, axis := range axes {
		longer := make([][]string, 0, len(rows)*len(axis))
		for _, row := range rows {
			for _, text := range axis {
				longer = append(longer, append(append([]string{}, row...), text))
			}
		}
		rows = longer
	}
	return rows
}

// lists is every list of up to longest numbers below n, shorter ones first.
func lists(n, longest int) [][]int {
	all, last := [][]int{{}}, [][]int{{}}
	for range longest {
		longer := [][]int{}
		for _, list := range last {
			for i := range n {
				longer = append(longer, append(append([]int{}, list...), i))
			}
		}
		all, last = append(all, longer...), longer
	}
	return all
}

// letters gives every distinct time a letter, in order of appearance.
type letters struct {
	known map[int64]int
	order []int64
}

func newLetters() *letters { return &letters{known: map[int64]int{}} }

func (l *letters) of(nanoseconds int64) string {
	at, ok := l.known[nanoseconds]
	if !ok {
		at = len(l.order)
		l.known[nanoseconds] = at
		l.order = append(l.order, nanoseconds)
	}
	return letter(at)
}

func letter(at int) string {
	if at >= 26 {
		panic("more than 26 different times")
	}
	return string(rune('a' + at))
}

func hexadecimal(answers []bool) string {
	var text strings.Builder
	for from := 0; from < len(answers); from += 4 {
		digit := 0
		for i := from; i < from+4; i++ {
			digit <<= 1
			if i < len(answers) && answers[i] {
				digit |= 1
			}
		}
		text.WriteString(strconv.FormatInt(int64(digit), 16))
	}
	return text.String()
}

func numbersText(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, " ")
}

func secondsText(s *int64) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatInt(*s, 10)
}

var escapes = strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\x00", "\\0")

func line(word string, columns ...string) {
	out.WriteString(word)
	for _, column := range columns {
		out.WriteString("\t" + escapes.Replace(column))
	}
	out.WriteString("\n")
}
