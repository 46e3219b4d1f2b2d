//! Fetches from servers on this machine.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use prowess_http::{Deadlines, DnsLookup, HttpClient, HttpUrl, Proxy, WebFetcher};
use prowess_traits::{FetchLimits, Fetched, Fetcher, WebMethod, WebRequest};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_mins(1);

const LIMITS: FetchLimits = FetchLimits {
    bytes: 1_000,
    deadline_ms: 20_000,
    private: true,
};

/// Sends one of the responses to each connection, and returns the requests.
fn server(answers: Vec<Vec<u8>>) -> (u16, Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            asked.push(String::from_utf8(head).unwrap());
            // The client may close the connection early.
            let _ = stream.write_all(&answer);
        }
        // The test may need only the answer.
        let _ = sender.send(asked);
    });
    (port, requests)
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn fetcher() -> WebFetcher {
    WebFetcher::new("prowess-test").unwrap()
}

#[test]
fn fetch_sends_no_cookies_or_credentials() {
    let page = answer(
        "200 OK",
        "content-type: text/plain\r\nset-cookie: a=b\r\n",
        b"hello",
    );
    let (port, work) = server(vec![page]);
    let url = format!("http://127.0.0.1:{port}/x?q=1");
    let found = fetcher().fetch(&url, &LIMITS).unwrap();
    let expected = Fetched {
        url,
        status: 200,
        media_type: Some("text/plain".into()),
        body: b"hello".to_vec(),
        cut: false,
        elsewhere: None,
    };
    assert_eq!(found, expected);
    let asked = work
        .recv_timeout(PATIENCE)
        .unwrap()
        .remove(0)
        .to_lowercase();
    assert!(asked.starts_with("get /x?q=1 http/1.1\r\n"), "{asked}");
    for header in ["cookie", "authorization", "referer"] {
        assert!(!asked.contains(header), "{asked}");
    }
}

#[test]
fn redirects_stay_on_the_host() {
    let (port, work) = server(vec![
        answer("302 Found", "location: /next\r\n", b""),
        answer(
            "301 Moved",
            "location: https://me:pw@other.example/there\r\n",
            b"gone",
        ),
    ]);
    let found = fetcher()
        .fetch(&format!("http://127.0.0.1:{port}/"), &LIMITS)
        .unwrap();
    assert_eq!(found.url, format!("http://127.0.0.1:{port}/next"));
    assert_eq!(found.status, 301);
    assert_eq!(
        found.elsewhere.as_deref(),
        Some("https://other.example/there")
    );
    assert_eq!(work.recv_timeout(PATIENCE).unwrap().len(), 2);
}

#[test]
fn redirects_are_limited() {
    let (port, _work) = server(vec![answer("302 Found", "location: /\r\n", b""); 20]);
    let error = fetcher()
        .fetch(&format!("http://127.0.0.1:{port}/"), &LIMITS)
        .unwrap_err();
    assert_eq!(error.message, "more than 5 redirects");
}

#[test]
fn body_is_truncated_at_the_limit() {
    let (port, _work) = server(vec![answer("200 OK", "", &[b'x'; 5_000])]);
    let found = fetcher()
        .fetch(&format!("http://127.0.0.1:{port}/"), &LIMITS)
        .unwrap();
    assert_eq!((found.body.len(), found.cut), (1_000, true));
}

#[test]
fn compressed_bomb_is_truncated_at_the_limit() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        bomb.write_all(&vec![0; 1024 * 1024]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let (port, _work) = server(vec![answer("200 OK", "content-encoding: gzip\r\n", &bomb)]);
    let found = fetcher()
        .fetch(&format!("http://127.0.0.1:{port}/"), &LIMITS)
        .unwrap();
    assert_eq!((found.body, found.cut), (vec![0; 1_000], true));
}

#[test]
fn private_addresses_are_refused_in_every_spelling() {
    let limits = FetchLimits {
        private: false,
        ..LIMITS
    };
    for url in [
        "http://127.0.0.1:1/",
        "http://2130706433:1/",
        "http://0x7f.1:1/",
        "http://[::1]:1/",
        "http://[::ffff:127.0.0.1]:1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost:1/",
    ] {
        let error = fetcher().fetch(url, &limits).unwrap_err();
        assert!(error.message.contains("private network"), "{url}: {error}");
    }
}

#[test]
fn other_schemes_and_users_are_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://a.example/",
        "http://me:pw@a.example/",
        "x",
    ] {
        let error = fetcher().fetch(url, &LIMITS).unwrap_err();
        assert!(!error.message.contains("pw"), "{error}");
    }
}

#[test]
fn rebound_name_is_refused() {
    // The name resolves to a private address first and to a public one later.
    let public = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));
    let steps = Mutex::new(VecDeque::from([
        vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        vec![public],
    ]));
    let lookup: DnsLookup = Arc::new(move |_| Ok(steps.lock().unwrap().pop_front().unwrap()));
    let fetcher = WebFetcher::with_lookup("prowess-test", Some(&lookup)).unwrap();
    let limits = FetchLimits {
        private: false,
        ..LIMITS
    };
    let error = fetcher
        .fetch("http://rebind.example/", &limits)
        .unwrap_err();
    assert!(error.message.contains("private network"), "{error}");
}

/// Private names such as `metadata` and `instance-data` may resolve to a cloud's metadata service.
#[test]
fn private_name_cannot_reach_metadata_service() {
    let lookup: DnsLookup = Arc::new(|_| Ok(vec![IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))]));
    let fetcher = WebFetcher::with_lookup("prowess-test", Some(&lookup)).unwrap();
    let limits = FetchLimits {
        private: true,
        deadline_ms: 2_000,
        ..LIMITS
    };
    for url in [
        "http://instance-data/latest/",
        "http://169.254.169.254/latest/",
    ] {
        let error = fetcher.fetch(url, &limits).unwrap_err();
        assert!(error.message.contains("private network"), "{url}: {error}");
    }
}

#[test]
fn silent_server_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let limits = FetchLimits {
        deadline_ms: 50,
        ..LIMITS
    };
    let error = fetcher()
        .fetch(&format!("http://127.0.0.1:{port}/"), &limits)
        .unwrap_err();
    assert_eq!(error.message, "no response within 50 ms");
}

#[test]
fn proxy_is_used_for_https_only_and_never_shown() {
    let refused = answer("403 Forbidden", "", b"");
    let (port, work) = server(vec![refused, answer("200 OK", "", b"direct")]);
    let proxy = Proxy {
        address: format!("http://me:pw@127.0.0.1:{port}"),
        except: "near.example".into(),
    };
    let client = HttpClient::with_proxy("prowess-test", Deadlines::default(), &proxy).unwrap();
    assert!(!format!("{client:?} {proxy:?}").contains("pw"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let far = HttpUrl::parse("https://far.example/x").unwrap();
        let error = client.get(&far, &[]).await.unwrap_err();
        assert!(!format!("{error:?}").contains("pw"), "{error}");
        let plain = HttpUrl::parse(&format!("http://127.0.0.1:{port}/y")).unwrap();
        let got = client.get(&plain, &[]).await.unwrap();
        assert_eq!(got.body().await.unwrap(), b"direct");
    });
    let asked = work.recv_timeout(PATIENCE).unwrap();
    assert!(
        asked[0].starts_with("CONNECT far.example:443 HTTP/1.1\r\n"),
        "{}",
        asked[0]
    );
    assert!(asked[1].starts_with("GET /y HTTP/1.1\r\n"), "{}", asked[1]);
}

#[test]
fn fetch_works_inside_a_runtime() {
    let (port, _work) = server(vec![answer("200 OK", "", b"hello")]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found = runtime
        .block_on(async { fetcher().fetch(&format!("http://127.0.0.1:{port}/"), &LIMITS) })
        .unwrap();
    assert_eq!(found.body, b"hello");
}

#[test]
fn requests_send_method_headers_and_body_and_follow_no_redirect() {
    let moved = answer("307 Moved", "location: /next\r\n", b"later");
    let server = prowess_test::server::TestServer::once(moved);
    let url = format!("http://127.0.0.1:{}/items", server.port);
    let headers = [("x-team".to_owned(), "red".to_owned())];
    let request = WebRequest {
        method: WebMethod::Patch,
        url: &url,
        headers: &headers,
        body: b"{}",
    };
    let found = fetcher().send(&request, &LIMITS).unwrap();
    assert_eq!((found.status, found.body), (307, b"later".to_vec()));
    let next = format!("http://127.0.0.1:{}/next", server.port);
    assert_eq!(found.elsewhere, Some(next));
    let asked = server.asked().remove(0);
    assert!(
        asked.head.starts_with("patch /items http/1.1\r\n"),
        "{}",
        asked.head
    );
    assert!(asked.head.contains("x-team: red\r\n"), "{}", asked.head);
    assert_eq!(asked.body, "{}");
    // An error never repeats a header.
    let headers = [("x".to_owned(), "canary\nx".to_owned())];
    let request = WebRequest {
        headers: &headers,
        ..request
    };
    let error = fetcher().send(&request, &LIMITS).unwrap_err();
    assert_eq!(error.message, "a header contains invalid characters");
    assert!(!format!("{request:?}").contains("canary"));
}
