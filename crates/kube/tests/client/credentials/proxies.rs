//! Tests connections through proxies.

use super::server::{Authority, CredentialServer, ServerState};
use super::setting::{REQUEST, Setting, request};
use std::sync::{Arc, Mutex};
use taintward_kube::config::probe;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The requests to a proxy, by connection.
type ProxyLog = Arc<Mutex<Vec<String>>>;

/// A proxy for CONNECT, with TLS if given, or for SOCKS.
async fn proxy(tls: Option<Arc<ServerConfig>>) -> (u16, ProxyLog) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, log) = (listener.local_addr().unwrap().port(), ProxyLog::default());
    let requested = Arc::clone(&log);
    tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let (tls, log) = (tls.clone(), Arc::clone(&requested));
            tokio::spawn(async move {
                match tls {
                    Some(tls) => pass(TlsAcceptor::from(tls).accept(tcp).await.unwrap(), log).await,
                    None => pass(tcp, log).await,
                }
            });
        }
    });
    (port, log)
}

async fn pass(mut stream: impl AsyncRead + AsyncWrite + Unpin, log: ProxyLog) {
    let mut buffer = vec![0; 4096];
    let length = stream.read(&mut buffer).await.unwrap();
    let (place, yes) = if buffer[0] == 5 {
        stream.write_all(&[5, 0]).await.unwrap();
        stream.read_exact(&mut buffer[..10]).await.unwrap();
        let port = u16::from_be_bytes([buffer[8], buffer[9]]);
        (format!("127.0.0.1:{port}"), vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    } else {
        let requested = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let place = requested.split(' ').nth(1).unwrap().to_owned();
        log.lock().unwrap().push(requested);
        (place, b"HTTP/1.1 200 OK\r\n\r\n".to_vec())
    };
    let mut server = TcpStream::connect(place).await.unwrap();
    stream.write_all(&yes).await.unwrap();
    let _ = copy_bidirectional(&mut stream, &mut server).await;
}

#[tokio::test]
async fn every_kind_of_proxy_leads_to_the_server() {
    let (authority, setting) = (Authority::new(), Setting::new());
    let server = CredentialServer::start(ServerState {
        tls: Some(authority.server()),
        tokens: vec!["t"],
        ..ServerState::default()
    });
    let server = server.await;
    setting.write("ca.crt", &authority.pem());
    let (plain, encrypted) = (proxy(None).await, proxy(Some(authority.server())).await);
    for (address, log) in [
        (format!("http://us%40er:pass@127.0.0.1:{}", plain.0), Some(&plain.1)),
        (format!("https://127.0.0.1:{}", encrypted.0), Some(&encrypted.1)),
        (format!("socks5://127.0.0.1:{}", plain.0), None),
    ] {
        let cluster = format!("certificate-authority: ca.crt, proxy-url: '{address}'");
        let connected = setting.connect(&format!("https://{}", server.address), &cluster, "token: t").await;
        assert_eq!(request(&connected).await, Ok("v1.0.0".to_owned()), "{address}");
        if let Some(log) = log {
            let requested = log.lock().unwrap().pop().unwrap();
            assert!(requested.starts_with("CONNECT 127.0.0.1:"), "{requested}");
            // us@er:pass
            let user = requested.to_lowercase().contains("proxy-authorization: basic dxnazxi6cgfzcw==");
            assert_eq!(user, address.contains("us%40er"), "{requested}");
            assert!(!requested.contains("Bearer"), "the token is not the proxy's: {requested}");
        }
    }
}

/// Credentials belong to the configuration, not to a connection: a plugin runs once for all of them, also behind a
/// proxy.
#[tokio::test]
async fn behind_a_proxy_a_plugin_runs_once_as_well() {
    let setting = Setting::new();
    let credential =
        r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}"#;
    let user = setting.plugin(&format!("echo '{credential}'"));
    let connected = setting.connect("https://127.0.0.1:1", "proxy-url: 'http://127.0.0.1:9'", &user).await;
    for client in [&connected.client, &connected.streams, &connected.heartbeats, &connected.lease] {
        assert!(probe(client, REQUEST).await.is_err());
    }
    assert_eq!(setting.runs(), 1);
}
