// Works on a sandbox with the official client for Node.js; the kubeconfig is the argument.
import assert from 'node:assert/strict'
import {createRequire} from 'node:module'
import {setTimeout as sleep} from 'node:timers/promises'

const k8s = createRequire(`${process.cwd()}/`)('@kubernetes/client-node')
const config = new k8s.KubeConfig()
config.loadFromFile(process.argv[2])
const core = config.makeApiClient(k8s.CoreV1Api)
const namespace = 'default'

const pod = (name, nodeName) => ({
	metadata: {name, labels: {app: 'web'}},
	spec: {nodeName, terminationGracePeriodSeconds: 0, containers: [{name: 'main', image: 'registry.example/app:1'}]},
})

async function gone(name) {
	for (let time = 0; time < 600; time++) {
		try {
			await core.readNamespacedPod({name, namespace})
		} catch (why) {
			assert.equal(why.code, 404)
			return
		}
		await sleep(50)
	}
	assert.fail(`${name} is still there`)
}

// Create.
for (let number = 0; number < 5; number++) {
	const made = await core.createNamespacedPod({namespace, body: pod(`web-${number}`, number < 3 ? 'n1' : undefined)})
	assert(made.metadata.uid && made.metadata.creationTimestamp instanceof Date)
}
await assert.rejects(core.createNamespacedPod({namespace, body: pod('web-0')}), why => why.code === 409)

// List in pages.
const names = []
let [token, pages] = [undefined, 0]
do {
	const page = await core.listNamespacedPod({namespace, limit: 2, _continue: token})
	names.push(...page.items.map(one => one.metadata.name))
	token = page.metadata._continue
	pages++
} while (token)
assert.deepEqual([names.sort(), pages], [[0, 1, 2, 3, 4].map(number => `web-${number}`), 3])

// Watch, and patch.
const {metadata} = await core.listNamespacedPod({namespace})
const seen = new Promise((resolve, reject) => {
	const told = (type, object) => object.metadata.labels.tier === 'front' && resolve([type, object.metadata.name])
	const ended = why => reject(why ?? new Error('the watch ended'))
	new k8s.Watch(config).watch(`/api/v1/namespaces/${namespace}/pods`, {resourceVersion: metadata.resourceVersion}, told, ended).catch(reject)
})
seen.catch(() => {})
const strategic = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.StrategicMergePatch)
await core.patchNamespacedPod({name: 'web-4', namespace, body: {metadata: {labels: {tier: 'front'}}}}, strategic)
assert.deepEqual(await seen, ['MODIFIED', 'web-4'])

// Evict and delete.
await core.createNamespacedPodEviction({name: 'web-3', namespace, body: {metadata: {name: 'web-3', namespace}}})
await gone('web-3')
await core.deleteNamespacedPod({name: 'web-4', namespace, gracePeriodSeconds: 0})
await gone('web-4')

// A taint evicts the pods of its node.
const taints = [{key: 'maintenance', value: 'now', effect: 'NoExecute'}]
const node = await core.patchNode({name: 'n1', body: {spec: {taints}}}, strategic)
assert.equal(node.spec.taints[0].key, 'maintenance')
for (let number = 0; number < 3; number++) await gone(`web-${number}`)
console.log('all done')
process.exit(0)
