<?php
// A shop that caches with Symfony Cache's RedisAdapter; keys such as "shop:user.7". Arguments and output as lookups.py says.

declare(strict_types=1);

require 'Symfony/Component/Cache/autoload.php';

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Contracts\Cache\ItemInterface;

const PATIENCE = 30; // seconds; for a busy machine

final class Shop
{
    public int $databaseQueries = 0;
    private RedisAdapter $cache;
    private PDO $database;

    public function __construct(string $port, string $database)
    {
        $redis = RedisAdapter::createConnection("redis://127.0.0.1:$port");
        $this->cache = new RedisAdapter($redis, 'shop', 300);
        $this->database = new PDO("sqlite:$database");
    }

    public function nameOfUser(int $id): ?string
    {
        return $this->cache->get("user.$id", fn (ItemInterface $item): ?string => $this->load($id));
    }

    private function load(int $id): ?string
    {
        ++$this->databaseQueries;
        $query = $this->database->prepare('SELECT name FROM user WHERE id = ?');
        $query->execute([$id]);
        $name = $query->fetchColumn();

        return false === $name ? null : $name;
    }
}

function step(string $name, array $ids, Shop $shop): void
{
    $before = $shop->databaseQueries;
    $found = 0;
    foreach ($ids as $id) {
        $text = $shop->nameOfUser($id);
        if (null !== $text && "user $id" !== $text) {
            throw new UnexpectedValueException("user $id came back as $text");
        }
        $found += null === $text ? 0 : 1;
    }
    printf("step=%s lookups=%d found=%d database_queries=%d\n", $name, count($ids), $found, $shop->databaseQueries - $before);
}

[, $port, $database, $existing, $absent] = $argv;
$ids = fn (string $list): array => array_map('intval', explode(',', $list));
$later = array_map('intval', array_slice($argv, 5));
$shop = new Shop($port, $database);
step('first', $ids($existing), $shop);
step('again', $ids($existing), $shop);
step('absent', [...$ids($absent), ...$later], $shop);
foreach ($later as $id) {
    $before = $shop->databaseQueries;
    for ($deadline = microtime(true) + PATIENCE; null === $shop->nameOfUser($id);) {
        if (microtime(true) > $deadline) {
            throw new RuntimeException("user $id has not come");
        }
    }
    printf("step=later lookups=1 found=1 database_queries=%d\n", $shop->databaseQueries - $before);
}
