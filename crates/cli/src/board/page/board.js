// Shows taints and the pods that they evict, from the events of `taintward board`.
//
// - Text of the cluster becomes text nodes only, without characters that hide or turn text.
// - Only items on the screen have elements.
// - Times are the cluster's, by a monotonic clock.

const $ = id => document.getElementById(id)
const values = map => [...map.values()]
const rect = element => element.getBoundingClientRect()
const clamp = (value, least, most) => Math.max(least, Math.min(value, most))
const clean = text => String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')

// The fields of a pod; this page adds RING and WORDS.
const [ID, SPACE, NAME, NODE, STATE, UNTIL, WHY, RING, WORDS] = Array(9).keys()
const [, COUNTS, DUE, DELAYED, HELD] = Array(5).keys()
const MARKS = [
	'M0-4a4 4 0 1 1 0 8a4 4 0 1 1 0-8',
	'M0-5a5 5 0 1 1 0 10a5 5 0 1 1 0-10',
	'M0-7L7 0L0 7L-7 0Z',
	'M-6-6H6L-6 6H6z',
	'M-5-6h3.5v12h-3.5zM1.5-6h3.5v12h-3.5z',
	'M-4-4L4 4M4-4L-4 4',
]
// The states of nodes as cells of 10 pixels; the most urgent last.
const CELLS = [
	['ready', 'm1 1h8v8h-8z'],
	['cordoned', 'm1.8 1.8h6.4v6.4h-6.4z'],
	['tainted NoExecute', 'm1 5h8v4h-8z'],
	['with countdowns', 'm1 1h8v8h-8zm2.5 2.5v3h3v-3z'],
	['with due pods', 'm5 0l5 5l-5 5l-5-5z'],
	['not ready', 'm5 0l5 9.5h-10z'],
]
const TILES_MAX = 200
const MARKS_MAX = 1000

let state = {}
const nodes = new Map()
const pods = new Map()
const workloads = new Map()
/** By names of nodes: pods may arrive before their node. */
const sites = new Map()
let totals
let anchor = [0, 0]
let terms = []
let selected = ''
const lists = new Set()

const clock = () => anchor[0] + ((performance.now() - anchor[1]) / 1000) * state.speed

/** As kubectl prints ages. */
function age(span) {
	const s = Math.max(0, Math.floor(span))
	const [m, h, d] = [60, 3600, 86400].map(unit => Math.floor(s / unit))
	const two = (large, unit, small, lesser) => large + unit + (small ? small + lesser : '')
	if (s < 120) return `${s}s`
	if (m < 10) return two(m, 'm', s % 60, 's')
	if (h < 3) return `${m}m`
	if (h < 8) return two(h, 'h', m % 60, 'm')
	if (h < 48) return `${h}h`
	if (d < 8) return two(d, 'd', h % 24, 'h')
	return d < 730 ? `${d}d` : `${Math.floor(d / 365)}y`
}

const [long, medium] = ['long', 'medium'].map(timeStyle => new Intl.DateTimeFormat('en-GB', {timeStyle}))
const hms = at => medium.format(at * 1000)
const words = pod => state.phases[pod[STATE]][0]

function leaves(pod) {
	const left = pod[UNTIL] - clock()
	if (pod[STATE] === COUNTS) return left >= 1 ? `in ${age(left)}` : 'now'
	if (pod[STATE] === DUE) return left > -5 ? 'now' : `overdue ${age(-left)}`
	return words(pod)
}

/** An element: `tag.class`, attributes and handlers, children. */
function h(what, attributes, ...children) {
	const [tag, ...classes] = what.split('.')
	const element = document.createElement(tag)
	element.className = classes.join(' ')
	for (const [key, value] of Object.entries(attributes ?? {})) {
		if (key.startsWith('on')) element[key] = value
		else if (value != null) set(element, key, clean(value))
	}
	element.append(...children.filter(Boolean).map(child => (child.nodeType ? child : clean(child))))
	return element
}

const bdi = text => h('bdi', {}, text)
const button = (text, onclick, label) => h('button', {type: 'button', onclick, 'aria-label': label}, text)

function svg(tag, attributes) {
	const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
	for (const key in attributes) set(element, key, attributes[key])
	return element
}

const set = (element, key, value) => element.setAttribute(key, value)

function put(element, text, className) {
	const shown = clean(text)
	if (element.textContent !== shown) element.textContent = shown
	if (className !== undefined && element.className !== className) element.className = className
}

/** The children become these, in order; what stays in place keeps the focus. */
function sync(parent, wanted) {
	const all = new Set(wanted)
	for (const child of [...parent.children]) if (!all.has(child)) child.remove()
	let at = parent.firstElementChild
	for (const child of all) {
		if (child === at) at = at.nextElementSibling
		else parent.insertBefore(child, at)
	}
}

/** Top and bottom of an element's part in the window. */
function opening(element) {
	const {top, bottom} = rect(element)
	return [Math.max(top, 0), Math.min(bottom, innerHeight)]
}

/**
 * A list of any length: of its rows those in sight exist, and arrow keys go through all.
 * `row` returns an item's key, its reference, and its cells: a class and a text each.
 */
function listOf(list, scroller, row, lines = 2) {
	let rows = new Map()
	let items = []
	let at = 0
	let height
	let width
	const draw = focus => {
		if (width !== list.clientWidth) {
			width = list.clientWidth
			height = (lines * 1.25 + 0.5) * parseFloat(getComputedStyle(document.documentElement).fontSize)
		}
		const {top} = rect(list)
		const [from, to] = opening(scroller).map(y => (y - top) / height)
		// One at least, for the Tab key.
		const first = clamp(Math.floor(from) - 3, 0, items.length - 1)
		const last = Math.min(items.length, clamp(Math.ceil(to) + 3, first + 1, first + 150))
		const focused = list.contains(document.activeElement)
		list.style.height = items.length ? `${items.length * height}px` : ''
		at = clamp(at, 0, items.length - 1)
		const indices = new Set()
		for (let index = first; index < last; index++) indices.add(index)
		const stop = indices.has(at) || focused ? at : first
		if (items.length && focused) indices.add(at)
		const kept = new Map()
		for (const index of indices) {
			const [key, ref, ...cells] = row(items[index])
			const one = rows.get(key) ?? h(`button.row.l${lines}`, {}, ...cells.map(bdi))
			const li = one.parentElement ?? h('li', {}, one)
			kept.set(key, one)
			Object.assign(one, {index, tabIndex: index === stop ? 0 : -1, onclick: () => ref && open(ref)})
			cells.forEach(([name, text], cell) => put(one.children[cell], text, name))
			li.style.height = `${height}px`
			li.style.transform = `translateY(${index * height}px)`
			set(li, 'aria-setsize', items.length)
			set(li, 'aria-posinset', index + 1)
		}
		rows = kept
		sync(list, values(kept).map(one => one.parentElement))
		// No text is cut: all rows get the height of the highest that was seen.
		const needed = Math.max(0, ...values(kept).map(one => one.scrollHeight))
		if (needed > height) {
			height = needed
			return draw(focus)
		}
		if (focus || (focused && !list.contains(document.activeElement))) list.querySelector('[tabindex="0"]')?.focus({preventScroll: true})
	}
	list.onkeydown = event => {
		const step = {ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9}[event.key]
		if (!step || !items.length) return
		event.preventDefault()
		at = clamp(at + step, 0, items.length - 1)
		const y = rect(list).top + at * height
		const [from, to] = opening(scroller)
		const scrolls = scroller.scrollHeight > scroller.clientHeight ? scroller : document.scrollingElement
		scrolls.scrollTop += Math.min(0, y - from - height) + Math.max(0, y + height - to)
		draw(true)
	}
	list.addEventListener('focusin', event => (at = event.target.index))
	const show = (all, none = '') => {
		items = all
		list.dataset.none = items.length ? '' : none
		draw()
	}
	lists.add(draw)
	return {show, draw}
}

/** Cells of one size in one SVG: the place tells which is under the pointer. */
function gridOf(cell, title, ref) {
	let items = []
	let columns = 1
	const element = svg('svg', {class: 'marks', 'aria-hidden': true})
	const frame = h('div', {}, element)
	const under = event => {
		const {left, top} = rect(element)
		const [column, row] = [event.clientX - left, event.clientY - top].map(at => Math.floor(at / cell))
		return column < columns && items[row * columns + column]
	}
	element.onpointermove = event => {
		const item = under(event)
		frame.title = item ? clean(title(item)) : ''
	}
	element.onclick = event => {
		const item = under(event)
		if (item) open(ref(item))
	}
	const lay = (all, width) => {
		items = all
		columns = Math.max(1, Math.floor(width / cell))
		set(element, 'height', Math.ceil(items.length / columns) * cell)
	}
	const place = (index, middle) => `${(index % columns) * cell + middle} ${Math.floor(index / columns) * cell + middle}`
	return {element, frame, lay, place}
}

function site(name) {
	// Random: a site of a later whole state has other versions.
	if (!sites.has(name)) sites.set(name, {pods: new Map(), counts: Array(6).fill(0), version: Math.random()})
	return sites.get(name)
}

function count(pod, by) {
	const on = site(pod[NODE])
	if (by > 0) on.pods.set(pod[ID], pod)
	else on.pods.delete(pod[ID])
	on.counts[pod[STATE]] += by
	on.version++
	totals[pod[STATE]] += by
	return on
}

function removePod(id) {
	if (pods.has(id)) count(pods.get(id), -1)
	pods.delete(id)
}

function putPod(pod) {
	const before = pods.get(pod[ID])
	removePod(pod[ID])
	const on = count(pod, 1)
	// A ring is full where its taint began, or this page first saw the deadline.
	const since = on.node?.taints.find(taint => taint.text === pod[WHY])?.addedAt
	const same = before?.[UNTIL] === pod[UNTIL] && before[RING]
	pod[RING] = same || Math.max(1, pod[UNTIL] - (since && since < pod[UNTIL] ? since : clock()))
	pods.set(pod[ID], pod)
}

function removeNode(id) {
	const node = nodes.get(id)
	if (!node) return
	node.site.version++
	if (node.site.node === node) delete node.site.node
	nodes.delete(id)
}

function putNode(node) {
	removeNode(node.id)
	node.site = site(node.name)
	node.site.node = node
	node.site.version++
	node.sort = node.name.replace(/\d+/g, digits => digits.padStart(9, 0))
	const is = [node.health, node.unschedulable && 'cordoned', node.taints.length && 'tainted'].filter(Boolean)
	const words = [node.name, `node:${node.name}`, `zone:${node.zone}`, ...is.map(one => `is:${one}`)]
	node.words = ` ${words.concat(node.taints.map(taint => taint.text)).join(' ')} `.toLowerCase()
	for (const pod of node.site.pods.values()) pod[WORDS] = undefined
	nodes.set(node.id, node)
}

function apply(message) {
	if (message.phases) {
		for (const map of [nodes, pods, workloads, sites]) map.clear()
		totals = Array(6).fill(0)
		state = {speed: 1, decisions: [], limits: []}
	}
	const decisions = [...state.decisions, ...(message.decisions ?? [])].slice(-200)
	Object.assign(state, message, {decisions})
	if (message.now) anchor = [message.now, performance.now()]
	message.deletedNodes?.forEach(removeNode)
	message.deletedPods?.forEach(removePod)
	message.deletedWorkloads?.forEach(id => workloads.delete(id))
	message.nodes?.forEach(putNode)
	message.pods?.forEach(putPod)
	message.workloads?.forEach(one => {
		one.few = one.healthy < one.desired
		one.ref = `workload/${one.kind}/${one.namespace}/${one.name}`
		one.words = ` ${one.namespace}/${one.name} ${one.kind} ns:${one.namespace} ${one.few ? 'is:unhealthy ' : ''}`.toLowerCase()
		workloads.set(one.id, one)
	})
}

// Search: all words, found anywhere; `zone:z1` and `is:due` are whole.

const found = words => terms.every(term => words.includes(term))

function podFound(pod) {
	if (!terms.length) return true
	pod[WORDS] ??= ` ${pod[SPACE]}/${pod[NAME]} ns:${pod[SPACE]} ${pod[WHY]}`.toLowerCase() + (site(pod[NODE]).node?.words ?? ' ')
	return found(`${pod[WORDS]}is:${words(pod)} `)
}

const nodeFound = node => found(node.words) || values(node.site.pods).some(podFound)

const number = count => count.toLocaleString('en')
const plural = (count, one) => `${number(count)} ${one}${count === 1 ? '' : 's'}`
const podName = pod => `${pod[SPACE]}/${pod[NAME]}`
const podRef = pod => `pod/${podName(pod)}`
const nodeRef = node => `node/${node.name}`
const podTitle = pod => `${podName(pod)}: ${leaves(pod)} ${pod[WHY]}`
const dots = (...told) => told.filter(Boolean).join(' · ')
const why = node => (node.since ? node.reason.replace('silent', `silent since ${hms(node.since)}`) : node.reason)
const isOut = taint => taint.effect === 'NoExecute'

function podCount({pods, counts}) {
	const told = counts.map((count, index) => index && count && `${count} ${state.phases[index][+(count > 1)]}`)
	return dots(plural(pods.size, 'pod'), ...told)
}

/** A taint; `tick` renews its age. */
function chip({text, note, effect, addedAt, manager}) {
	const since = h('span.quiet')
	const end = `:${effect}`
	const made = h(`span.chip${isOut({effect}) ? '.out' : ''}`, {title: dots(text, note)}, h('bdi', {}, ...text.replace(end, '').split(/(?<=\/)/).flatMap(part => [part, h('wbr')])), effect && h('span', {}, end), ' ', since)
	made.tick = () => put(since, (addedAt ? age(clock() - addedAt) : '') + (manager && ` by ${manager}`))
	made.tick()
	return made
}

const RANKS = '510234'
function urgency(a, b) {
	return RANKS[a[STATE]] - RANKS[b[STATE]] || a[UNTIL] - b[UNTIL] || order(a[SPACE], b[SPACE]) || order(a[NAME], b[NAME])
}

function cellOf(node) {
	if (node.health !== 'Ready') return 5
	const {counts} = node.site
	return counts[DUE] + counts[DELAYED] ? 4 : counts[COUNTS] ? 3 : node.taints.some(isOut) ? 2 : node.unschedulable ? 1 : 0
}

function drawLegend(kinds, name, viewBox) {
	$('legend').replaceChildren(...kinds.map(([text, d, title], index) => {
		const mark = svg('svg', {width: 16, height: 16, viewBox, 'aria-hidden': true})
		mark.append(svg('path', {d: d.replace(/^m/, 'M'), class: name + index, pathLength: 1}))
		return h('li', {title}, mark, text)
	}))
}

// Nodes: tiles, or cells of a grid for each zone where they are many.

const zones = new Map()
const tiles = new Map()
let shownTiles = []
let tileWidth = 240
let lastTile

function zoneOf(name) {
	if (!zones.has(name)) {
		const title = button(bdi(name ? `Zone ${name}` : 'No zone'), () => search(`zone:${name}`), `Only zone ${name}`)
		const grid = gridOf(10, node => `${node.name}: ${node.state} · ${podCount(node.site)}`, nodeRef)
		const paths = CELLS.map((_, index) => svg('path', {class: `g${index}`}))
		grid.element.append(...paths)
		const [told, list] = [h('span.quiet'), h('ul.tiles')]
		const titled = h('h3', {}, title, told)
		zones.set(name, {titled, told, list, grid, paths, box: h('div.zone', {}, titled)})
	}
	return zones.get(name)
}

function tileOf(node) {
	if (!tiles.has(node.id)) {
		const [name, state] = [bdi(''), h('span')]
		const opens = button(name)
		opens.append(state)
		const grid = gridOf(18, podTitle, podRef)
		tiles.set(node.id, {li: h('li.tile', {}, opens), opens, name, state, grid, chips: h('div.chips'), why: h('p'), foot: h('p.foot'), paths: new Map()})
	}
	const tile = tiles.get(node.id)
	tile.node = node
	put(tile.name, node.name)
	put(tile.state, node.state, `health ${node.health}`)
	tile.opens.onclick = () => open(nodeRef(node))
	tile.li.className = `tile${node.health === 'Ready' ? '' : ' bad'}${selected === nodeRef(node) ? ' open' : ''}`
	return tile
}

function fillTile(tile, most) {
	const {node, grid, chips, paths} = tile
	const version = [node.site.version, tileWidth, most, ...terms].join()
	if (tile.version !== version) {
		tile.version = version
		chips.replaceChildren(...node.taints.slice(0, 3).map(chip))
		if (node.taints.length > 3) chips.append(`and ${node.taints.length - 3} more`)
		put(tile.why, why(node))
		tile.pods = values(node.site.pods).sort(urgency)
		tile.marked = tile.pods.slice(0, most)
		grid.lay(tile.marked, tileWidth - 20)
		tile.paths = new Map(tile.marked.map((pod, index) => {
			const path = paths.get(pod[ID]) ?? svg('path', {pathLength: 1})
			set(path, 'class', `s${pod[STATE]}${podFound(pod) ? '' : ' other'}`)
			set(path, 'd', MARKS[pod[STATE]])
			set(path, 'transform', `translate(${grid.place(index, 9)})`)
			path.removeAttribute('stroke-dasharray')
			return [pod[ID], path]
		}))
		sync(grid.element, tile.paths.values())
		sync(tile.li, [tile.opens, node.reason && tile.why, chips, grid.frame, tile.foot].filter(Boolean))
	}
	for (const one of chips.children) one.tick()
	for (const pod of tile.marked) {
		if (pod[STATE] !== COUNTS) continue
		const part = clamp((pod[UNTIL] - clock()) / pod[RING], 0, 1)
		set(tile.paths.get(pod[ID]), 'stroke-dasharray', `${part.toFixed(3)} 2`)
	}
	const [next] = tile.pods
	put(tile.foot, dots(podCount(node.site), next?.[UNTIL] && `next ${leaves(next)}`, tile.pods.length > most && `${most} shown`))
}

function emptyTile(tile) {
	if (!tile.version) return
	tile.version = ''
	tile.li.style.minHeight = `${tile.li.offsetHeight}px`
	tile.paths = new Map()
	tile.chips.replaceChildren()
	tile.grid.element.replaceChildren()
	sync(tile.li, [tile.opens])
}

function fillTiles() {
	const [from, to] = opening($('nodes'))
	const boxes = shownTiles.map(({li}) => rect(li))
	tileWidth = boxes[0]?.width || tileWidth
	const near = boxes.map(box => box.bottom > from - 150 && box.top < to + 150)
	const most = clamp(Math.floor(MARKS_MAX / near.filter(Boolean).length), 8, 120)
	shownTiles.forEach((tile, index) => (near[index] ? fillTile(tile, most) : emptyTile(tile)))
}

const nodeList = listOf($('node-list'), $('nodes'), node => [
	node.id,
	nodeRef(node),
	['kind', node.name],
	[`health ${node.health}`, node.state],
	['main quiet', node.taints.map(taint => taint.text).join(' ')],
	['quiet', podCount(node.site)],
], 1)

const order = (a, b) => (a < b ? -1 : a > b)

function drawNodes() {
	const shown = values(nodes).filter(nodeFound).sort((a, b) => order(a.sort, b.sort))
	const many = shown.length > TILES_MAX
	const byZone = Map.groupBy(shown, node => node.zone)
	const wide = $('zones').clientWidth - 24
	for (const name of zones.keys()) if (!byZone.has(name)) zones.delete(name)
	for (const id of tiles.keys()) if (!nodes.has(id)) tiles.delete(id)
	const names = [...byZone.keys()].sort((a, b) => !a - !b || order(a, b)).slice(0, many ? 60 : TILES_MAX)
	sync($('zones'), names.map(name => zoneOf(name).box))
	for (const name of names) {
		const [{told, box, titled, list, grid, paths}, within] = [zoneOf(name), byZone.get(name)]
		const cells = Map.groupBy(many ? within.keys() : [], index => cellOf(within[index]))
		put(told, dots(plural(within.length, 'node'), ...CELLS.map(([text], kind) => cells.has(kind) && `${number(cells.get(kind).length)} ${text}`).reverse()))
		sync(box, [titled, many ? grid.frame : list])
		sync(list, many ? [] : within.map(node => tileOf(node).li))
		if (!many) continue
		grid.lay(within, wide)
		paths.forEach((path, kind) => {
			const d = (cells.get(kind) ?? []).map(index => `M${grid.place(index, 0)}${CELLS[kind][1]}`).join('')
			if (path.shown !== d) set(path, 'd', (path.shown = d))
		})
	}
	shownTiles = many ? [] : shown.map(tileOf)
	put($('hint'), shown.length ? state.hint : nodes.size ? 'No node matches.' : 'The cluster has no nodes.')
	nodeList.show(many ? shown : [])
	if (many) drawLegend(CELLS, 'g', '-1 -1 12 12')
	else drawLegend(state.phases.map(([text, , means], index) => [text, MARKS[index], means]), 's', '-8 -8 16 16')
	const stop = shownTiles.find(({opens}) => opens === lastTile) ?? shownTiles[0]
	for (const tile of shownTiles) tile.opens.tabIndex = tile === stop ? 0 : -1
}

$('zones').onkeydown = event => {
	const at = shownTiles.findIndex(({opens}) => opens === event.target)
	const row = Math.max(1, Math.floor($('zones').clientWidth / (tileWidth + 7)))
	const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row}[event.key]
	if (!step || at < 0) return
	event.preventDefault()
	lastTile = shownTiles[clamp(at + step, 0, shownTiles.length - 1)].opens
	lastTile.focus()
}

const listIn = (id, row, lines) => listOf($(id).querySelector('ul'), $(id).querySelector('.scroll'), row, lines)
const podRow = pod => [
	pod[ID],
	podRef(pod),
	[`when c${pod[STATE]}`, leaves(pod)],
	['', podName(pod)],
	['quiet', dots(pod[NODE], pod[WHY].replace(':NoExecute', ''))],
]
const leaving = listIn('leaving', podRow)
const workloadList = listIn('workloads', one => [
	one.id,
	one.ref,
	['kind quiet', one.kind],
	['main', `${one.namespace}/${one.name}`],
	[one.few ? 'c2' : 'quiet', `${one.few ? '▼ ' : ''}${one.healthy}/${one.desired} healthy`],
], 1)
const decisionList = listIn('decisions', one => [
	one.id,
	one.pod ? `pod/${one.pod}` : one.node && `node/${one.node}`,
	['quiet', hms(one.at)],
	[one.kind, dots(one.label, one.pod || one.node)],
	['', one.text],
])

function drawLists() {
	const left = values(pods).filter(pod => pod[STATE] && pod[STATE] <= HELD && podFound(pod))
	leaving.show(left.sort(urgency), 'No pod has a deadline.')
	put($('leaving').querySelector('.quiet'), left.length ? plural(left.length, 'pod') : '')
	const all = values(workloads).filter(one => found(one.words))
	workloadList.show(all.sort((a, b) => b.few - a.few || order(a.words, b.words)), 'No workload.')
	decisionList.show(state.decisions.filter(one => found(` ${one.text} node:${one.node} ${one.pod} `.toLowerCase())).reverse(), 'None so far.')
	const limits = state.limits.slice(0, 100).map(one => h('li', {}, h('b.c4', {}, one.kind), ' ', h('bdi.quiet', {}, one.about), h('br'), bdi(one.text)))
	const list = $('limits').querySelector('ul')
	list.dataset.none = limits.length ? '' : 'Nothing.'
	list.replaceChildren(...limits)
}

function drawHead() {
	put($('cluster'), state.cluster)
	put($('speed'), state.speed === 1 ? '' : `at ${state.speed}× speed`)
	put($('problem'), state.problem ?? '')
	const told = [['', nodes.size, 'nodes'], ['c2', values(nodes).filter(node => node.health !== 'Ready').length, 'not ready'], ['', pods.size, 'pods']]
	for (let index = COUNTS; index <= 5; index++) told.push([`c${index}`, totals[index], state.phases[index][1]])
	$('totals').replaceChildren(...told.map(([name, count, text]) => h('li', {}, h(`b.${count ? name : ''}`, {}, number(count)), ` ${text}`)))
	document.title = `${totals[COUNTS] + totals[DUE] + totals[DELAYED]} to evict · Taintward board`
	const tools = $('tools')
	if (state.sandbox && !tools.firstChild) {
		const file = h('input', {type: 'file', hidden: '', onchange: async () => act({verb: 'load', text: await file.files[0].text()})})
		const speeds = [1, 10, 60].map(speed => button(`${speed}×`, () => act({verb: 'speed', speed}), `Speed of time: ${speed}×`))
		tools.append(...speeds, button('Load a file', () => {file.value = ''; file.click();}), file)
	}
	for (const one of tools.querySelectorAll('[aria-label]')) set(one, 'aria-pressed', parseFloat(one.textContent) === state.speed)
}

let silence
function say(text) {
	put($('said'), text)
	clearTimeout(silence)
	silence = setTimeout(() => put($('said'), ''), 10000)
}

async function request(path, options) {
	try {
		const answer = await fetch(path, options)
		return [answer.ok && !answer.headers.has('failed'), await answer.text()]
	} catch {
		return [false, 'The board does not respond; check that it still runs.']
	}
}

async function act(body) {
	const headers = {'Content-Type': 'application/json', Authorization: `Bearer ${state.token}`}
	const [good, text] = await request('action', {method: 'POST', headers, body: JSON.stringify(body)})
	say(good ? JSON.parse(text).message : text)
}

const panel = $('panel')
let planned = ''
let opener
let parts = {}

/** Quotes a word for a shell. */
const word = text => (/^[\w./:=,@%+-]+$/.test(text) ? text : `'${clean(text).replaceAll("'", "'\\''")}'`)

function command(text) {
	const code = h('code', {}, text)
	const copy = () => navigator.clipboard.writeText(code.textContent).then(() => say('Copied.'), () => getSelection().selectAllChildren(code))
	return h('div.tools', {}, code, button('Copy', copy, `Copy ${text}`))
}

/** Shows a command's output: tables keep their columns, sentences wrap. */
async function ask(box, path, query) {
	const [good, text] = await request(`${path}?${new URLSearchParams(query)}`)
	box.className = good ? 'told' : 'told failed'
	let kind
	box.replaceChildren()
	for (const line of text.trimEnd().split('\n')) {
		const next = /\S {2,}\S/.test(line) ? 'pre' : 'p'
		if (next === kind) box.lastChild.append(`\n${clean(line)}`)
		else box.append(h(next, next === 'pre' ? {tabindex: 0} : {}, line))
		kind = next
	}
}

function target() {
	const [, kind, name] = /^([^/]*)\/?(.*)$/s.exec(selected)
	let thing
	if (kind === 'node') thing = sites.get(name)?.node
	else if (kind === 'workload') thing = values(workloads).find(one => one.ref === selected)
	else if (kind === 'pod') thing = pods.get(parts.pod) ?? values(pods).find(pod => podName(pod) === name)
	parts.pod = thing?.[ID]
	return {kind, name, thing}
}

function form(field, label, submit, ...more) {
	const onsubmit = event => {
		event.preventDefault()
		submit(field.value.trim())
	}
	return h('form.tools', {onsubmit}, field, h('button', {}, label), ...more)
}

function buildPanel() {
	const {kind, name, thing} = target()
	const words = name.split('/')
	const last = kind === 'node' ? name : words.at(-1)
	const type = {node: 'Node', pod: 'Pod'}[kind] ?? words.shift()
	const place = kind === 'node' ? '' : ` -n ${word(words.at(-2) ?? '')}`
	const title = h('h2', {id: 'panel-title', tabindex: -1}, `${type} `, bdi(words.join('/')))
	Object.assign(parts, {facts: h('p'), said: h('div')})
	panel.replaceChildren(h('div.title', {}, title, button('✕', () => open(''), 'Close')), parts.facts)
	if (kind === 'pod' && thing) panel.append(button(bdi(`Node ${thing[NODE]}`), () => open(`node/${thing[NODE]}`)))
	if (kind === 'node') {
		const field = h('input', {'aria-label': 'A taint', placeholder: 'KEY=VALUE:EFFECT', value: planned || 'maintenance=now:NoExecute', spellcheck: false})
		const [asked, answer] = [h('div'), h('div')]
		const plan = taint => {
			planned = taint
			remember()
			asked.replaceChildren(command(`taintward plan --taint ${word(name)} ${word(taint)}`))
			ask(answer, 'plan', {node: name, taint})
		}
		parts.taints = h('ul', {'aria-label': 'Taints'})
		panel.append(parts.taints)
		if (state.sandbox) {
			parts.cordon = button('', () => act({verb: target().thing?.unschedulable ? 'uncordon' : 'cordon', node: name}))
			parts.silence = button('', () => act({verb: target().thing?.silenced ? 'recover' : 'silence', node: name}))
			panel.append(h('div.tools', {}, parts.cordon, parts.silence))
		}
		const taint = state.sandbox && button('Taint', () => act({verb: 'taint', node: name, taint: field.value.trim()}))
		panel.append(h('h3', {}, 'What if it had this taint?'), form(field, 'Plan', plan, taint), asked, answer)
		if (planned) plan(planned)
	}
	if (/^(Depl|Stat)/.test(type) && state.sandbox) {
		const field = h('input', {type: 'number', min: 0, max: 10000, value: thing?.desired ?? 1, 'aria-label': 'Desired pods'})
		panel.append(form(field, 'Scale', replicas => act({verb: 'scale', workload: name, replicas: Number(replicas)})))
	}
	const what = type.toLowerCase()
	panel.append(h('h3', {}, 'Explanation'), command(`taintward explain ${what}/${word(last)}${place}`), command(`kubectl describe ${what} ${word(last)}${place}`), parts.said)
	if (kind === 'node') {
		const list = h('ul.list', {'aria-labelledby': 'panel-pods'})
		panel.append(h('h3', {id: 'panel-pods'}, 'Its pods'), list)
		parts.pods = listOf(list, panel, podRow)
	}
}

function tellPanel() {
	const {kind, thing} = target()
	let text = selected && 'Not found.'
	if (thing && kind === 'pod') text = dots(leaves(thing), thing[WHY])
	else if (thing && kind === 'node') text = dots(thing.state, thing.zone && `zone ${thing.zone}`, podCount(thing.site), why(thing))
	else if (thing) text = `${thing.healthy} of ${thing.desired} healthy`
	if (selected) put(parts.facts, text)
	for (const li of parts.taints?.children ?? []) li.firstChild.tick()
}

function drawPanel() {
	if (!selected) return
	const {kind, name, thing} = target()
	parts.pods?.show(values(sites.get(name)?.pods ?? new Map()).sort(urgency), 'None.')
	if (kind === 'node' && parts.node !== thing) {
		parts.node = thing
		parts.taints.replaceChildren(...(thing?.taints ?? []).map(taint => {
			const undo = () => act({verb: 'untaint', node: name, taint: `${taint.key}:${taint.effect}`})
			return h('li.tools', {}, chip(taint), taint.note && h('bdi.quiet', {}, taint.note), state.sandbox && button('Untaint', undo, `Untaint ${taint.text}`))
		}))
		if (parts.cordon) {
			put(parts.cordon, thing?.unschedulable ? 'Uncordon' : 'Cordon')
			put(parts.silence, thing?.silenced ? 'Resume heartbeats' : 'Stop heartbeats')
		}
	}
	// Explained again after a change, at most every two seconds.
	const version = String(kind === 'pod' ? thing?.slice(NODE, RING) : thing?.site?.version ?? thing?.healthy)
	if (parts.version === version) return
	parts.version = version
	clearTimeout(parts.timer)
	parts.timer = setTimeout(() => {
		parts.asked = performance.now()
		ask(parts.said, 'explain', {[kind]: name})
	}, Math.max(0, (parts.asked ?? -2000) + 2000 - performance.now()))
}

// The address has the view: what is searched, open and planned.

function remember(step) {
	const view = new URLSearchParams(Object.entries({q: $('query').value, open: selected, plan: planned}).filter(([, text]) => text))
	history[step ? 'pushState' : 'replaceState'](null, '', view.size ? `#${view}` : '.')
}

function select(ref) {
	clearTimeout(parts.timer)
	lists.delete(parts.pods?.draw)
	parts = {}
	selected = ref
	panel.hidden = !ref
	document.body.className = ref && 'docked'
	if (ref) buildPanel()
	draw()
}

function open(ref) {
	if (!selected) opener = document.activeElement
	planned = ''
	select(ref)
	remember(true)
	if (ref) $('panel-title').focus()
	else (opener?.isConnected ? opener : $('query')).focus()
}

function search(text) {
	$('query').value = text
	terms = text.toLowerCase().split(/\s+/).filter(Boolean).map(term => (/^(zone|node|ns|is):/.test(term) ? `${term} ` : term))
	remember()
	draw()
}

function recall() {
	const view = new URLSearchParams(location.hash.slice(1))
	const [query, ref] = [view.get('q') ?? '', view.get('open') ?? '']
	planned = view.get('plan') ?? ''
	selected = ref
	search(query)
	if (anchor[0]) select(ref)
}

$('query').oninput = event => search(event.target.value)
onpopstate = recall
onkeydown = event => {
	if (event.key === 'Escape' && selected) open('')
	if (event.key === '/' && !event.target.matches('input')) {
		event.preventDefault()
		$('query').focus()
	}
}

// Changes draw the whole screen, each second the visible parts.

let drawing = 0
function draw(least = 2) {
	if (!drawing) requestAnimationFrame(() => {
		const all = drawing === 2
		drawing = 0
		if (!last) return
		put($('clock'), long.format(clock() * 1000))
		if (all) [drawHead, drawNodes, drawLists, drawPanel].forEach(part => part())
		fillTiles()
		for (const list of lists) list()
		tellPanel()
	})
	drawing = Math.max(drawing, least)
}

addEventListener('scroll', () => draw(1), {capture: true, passive: true})
addEventListener('resize', () => draw())
function tick() {
	draw(1)
	setTimeout(tick, state.speed > 1 ? 250 : 1000)
}

let lost = 0
let last = ''
let events
let retry

function live() {
	if (lost) say('The board is connected again.')
	lost = 0
	put($('link'), 'live', '')
}

/** A hidden page uses none of a browser's six connections to a host. */
function listen() {
	events?.close()
	clearTimeout(retry)
	if (document.hidden) return
	const source = (events = new EventSource(`events?last=${last}`))
	for (const name of ['part', 'snapshot', 'change']) source.addEventListener(name, event => {
		last = event.lastEventId
		apply(JSON.parse(event.data))
		if (!last) return
		live()
		name === 'snapshot' && panel.hidden ? select(selected) : draw()
	})
	source.onerror = async () => {
		if (!lost) say('The connection to the board is lost; the page reconnects.')
		lost ||= Date.now() / 1000
		put($('link'), `reconnecting since ${hms(lost)}`, 'lost')
		if (source.readyState !== EventSource.CLOSED) return
		// A restarted board is elsewhere.
		const answer = await fetch('board.css').catch(() => {})
		if (source !== events) return
		if (answer?.status === 401) put($('link'), 'the board was restarted; open the address that it printed')
		retry = setTimeout(listen, 2000)
	}
}

const pages = new BroadcastChannel('board')
pages.onmessage = ({data}) => data === location.pathname || (location.pathname = data)
pages.postMessage(location.pathname)

document.onvisibilitychange = listen
recall()
listen()
tick()
