<?php
// Creates rows with Eloquent and reads each from Laravel's cache at once; the prefixes are those of a new application.
// integration/frameworks/creator.h documents arguments and output. The guard's absent reply is a serialized false: Cache::get returns null
// for a missing key.

use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager as Capsule;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Redis\RedisManager;

require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Database/autoload.php';
require 'Illuminate/Redis/autoload.php';

const PATIENCE = 60; // seconds; for a busy machine

class Visit extends Model
{
    protected $table = 'visit';
    protected $fillable = ['name'];
    public $timestamps = false;
}

class Letter extends Model
{
    protected $table = 'letter';
    protected $fillable = ['id'];
    protected $keyType = 'string';
    public $incrementing = false;
    public $timestamps = false;
}

function uuid(): string
{
    return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex(random_bytes(16)), 4));
}

function connect(string $address): Capsule
{
    $capsule = new Capsule();
    $capsule->addConnection(str_contains($address, '://')
        ? ['url' => $address]
        : ['driver' => 'sqlite', 'database' => $address, 'options' => [PDO::ATTR_TIMEOUT => PATIENCE]]);
    $capsule->setAsGlobal();
    $capsule->bootEloquent();
    return $capsule;
}

function redis_cache(int $port): Repository
{
    $redis = new RedisManager(new Container(), 'phpredis', [
        'options' => ['prefix' => 'laravel_database_'],
        'default' => ['host' => '127.0.0.1', 'port' => $port, 'database' => 0],
    ]);
    return new Repository(new RedisStore($redis, 'laravel_cache'));
}

function create_and_read(int $port, string $address, string $table, int $rows, bool $is_inside, int $interval): void
{
    $capsule = connect($address);
    $cache = redis_cache($port);
    $absent = 0;
    $create = fn () => $table === 'visit' ? Visit::create(['name' => 1]) : Letter::create(['id' => uuid()]);
    $read = function (Model $row) use ($cache, $table, &$absent): void {
        $absent += $cache->get("$table:{$row->getKey()}") === false ? 1 : 0;
    };
    for ($i = 0; $i < $rows; ++$i) {
        if ($is_inside) {
            $capsule->getConnection()->transaction(fn () => $read($create()));
        } else {
            $read($create());
        }
        usleep($interval * 1000);
    }
    echo "rows=$rows absent=$absent\n";
}

[, $port, $address, $table, $processes, $rows, $when, $interval] = $argv;
echo "ready\n";
$children = [];
for ($i = 0; $i < (int) $processes; ++$i) {
    $child = pcntl_fork();
    if ($child === 0) {
        create_and_read((int) $port, $address, $table, (int) $rows, $when === 'inside', (int) $interval);
        exit(0);
    }
    $children[] = $child;
}
$failed = 0;
foreach ($children as $child) {
    pcntl_waitpid($child, $status);
    $failed += $status === 0 ? 0 : 1;
}
exit($failed === 0 ? 0 : 1);
