// SPDX-License-Identifier: Apache-2.0
// The load of the data path benchmark: `generate` runs on frames that the kernel's test-run facility feeds it,
// gives each a flow chosen at random and sends it into a link; `sink` drops what arrives.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// Ports a client uses; its address counts up beyond them.
#define PORTS 16384
// Octets of a sample: Ethernet, IPv6, a routing header with two segments, IPv4 and UDP.
#define SAMPLE 122

// The frame is written anew each time: the kernel hands out pages again as they came back from the forwarder.
struct setting {
	__u32 flows;    // how many flows there are
	__u32 ifindex;  // the link to send into
	__u32 client;   // first client address, host order
	__u32 port;     // first client port, host order
	__u8 frame[44]; // Ethernet, IPv4 and UDP headers, padded
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct setting);
} settings SEC(".maps");

static __always_inline __u16 header_checksum(const struct iphdr *ip)
{
	const __u16 *word = (const __u16 *)ip;
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

SEC("xdp")
int generate(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	struct udphdr *udp = (void *)(ip + 1);
	__u32 zero = 0, flow;
	struct setting *setting = bpf_map_lookup_elem(&settings, &zero);

	if (!setting || !setting->flows || (void *)(udp + 1) > end)
		return XDP_DROP;
	__builtin_memcpy(data, setting->frame, sizeof(struct ethhdr) + sizeof(*ip) + sizeof(*udp));
	flow = setting->flows > 1 ? bpf_get_prandom_u32() % setting->flows : 0;
	ip->saddr = bpf_htonl(setting->client + flow / PORTS);
	udp->source = bpf_htons(setting->port + flow % PORTS);
	ip->check = header_checksum(ip);
	return bpf_redirect(setting->ifindex, 0);
}

// The beginning of a unicast frame that arrived at the sink; it takes the next one whenever its length is 0.
struct sample {
	__u32 length;
	__u8 octets[SAMPLE];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} samples SEC(".maps");

SEC("xdp")
int sink(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__u32 zero = 0;
	struct sample *sample = bpf_map_lookup_elem(&samples, &zero);

	if (sample && !sample->length && data + SAMPLE <= end && !(*(__u8 *)data & 1)) {
		__builtin_memcpy(sample->octets, data, SAMPLE);
		sample->length = end - data;
	}
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
